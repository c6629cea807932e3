// SPDX-License-Identifier: Apache-2.0
//
// A program whose calls 08_count_calls.py knows: it reads them here, and expects each to be counted
// once on every PE. So no call stands in a loop or a branch, and there is at least one of each kind
// of routine.
// Invariant: what lies between shmem_pcontrol(0) and shmem_pcontrol(1) is not counted.

#include <shmem.h>

namespace {

constexpr size_t kMost = 64;  // PEs
long word, words[4], sources[kMost * 4], dests[kMost * 4], lock;
unsigned int bits;
uint64_t signals[2];
int next;

void move_data(shmem_ctx_t ctx) {
  char name[SHMEM_MAX_NAME_LEN];
  int number, other;
  shmem_info_get_name(name);
  shmem_info_get_version(&number, &other);
  shmem_query_initialized(&number);
  shmem_query_thread(&number);
  shmem_pe_accessible(next);
  shmem_addr_accessible(words, next);
  shmem_ptr(words, next);
  shmem_team_ptr(SHMEM_TEAM_WORLD, words, next);

  shmem_putmem(dests, sources, 100, next);
  shmem_long_put(dests, sources, 4, next);
  shmem_put32(dests, sources, 4, next);
  shmem_ctx_long_put(ctx, dests, sources, 4, next);
  shmem_long_put_nbi(dests, sources, 4, next);
  shmem_quiet();
  shmem_long_get(dests, sources, 4, next);
  shmem_long_get_nbi(dests, sources, 4, next);
  shmem_ctx_quiet(ctx);
  shmem_long_iput(dests, sources, 2, 2, 2, next);
  shmem_long_iget(dests, sources, 2, 2, 2, next);
  shmem_long_ibput(dests, sources, 4, 4, 2, 3, next);
  shmem_long_ibget(dests, sources, 4, 4, 2, 3, next);
  shmem_long_p(&word, 1, next);
  shmem_long_g(&word, next);
  shmem_fence();
  shmem_ctx_fence(ctx);
  shmem_pe_quiet(&next, 1);
  shmem_ctx_pe_quiet(ctx, &next, 1);
  shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, nullptr, 0);
  shmem_ctx_session_stop(ctx);
}

void update() {
  long fetched;
  unsigned int fetched_bits;
  shmem_long_atomic_fetch(&word, next);
  shmem_long_atomic_set(&word, 1, next);
  shmem_long_atomic_swap(&word, 1, next);
  shmem_long_atomic_compare_swap(&word, 1, 2, next);
  shmem_long_atomic_fetch_inc(&word, next);
  shmem_long_atomic_inc(&word, next);
  shmem_long_atomic_fetch_add(&word, 1, next);
  shmem_long_atomic_add(&word, 1, next);
  shmem_uint_atomic_fetch_and(&bits, 1, next);
  shmem_uint_atomic_and(&bits, 1, next);
  shmem_uint_atomic_fetch_or(&bits, 1, next);
  shmem_uint_atomic_or(&bits, 1, next);
  shmem_uint_atomic_fetch_xor(&bits, 1, next);
  shmem_uint_atomic_xor(&bits, 1, next);
  shmem_long_atomic_fetch_nbi(&fetched, &word, next);
  shmem_long_atomic_swap_nbi(&fetched, &word, 1, next);
  shmem_long_atomic_compare_swap_nbi(&fetched, &word, 1, 2, next);
  shmem_long_atomic_fetch_inc_nbi(&fetched, &word, next);
  shmem_long_atomic_fetch_add_nbi(&fetched, &word, 1, next);
  shmem_uint_atomic_fetch_and_nbi(&fetched_bits, &bits, 1, next);
  shmem_uint_atomic_fetch_or_nbi(&fetched_bits, &bits, 1, next);
  shmem_uint_atomic_fetch_xor_nbi(&fetched_bits, &bits, 1, next);
  shmem_ctx_quiet(SHMEM_CTX_DEFAULT);
  shmem_set_lock(&lock);
  shmem_test_lock(&lock);
  shmem_clear_lock(&lock);
}

void wait() {
  const long wanted[4] = {};
  size_t indices[4];
  shmem_long_put_signal(dests, sources, 4, &signals[0], 1, SHMEM_SIGNAL_SET, next);
  shmem_long_put_signal_nbi(dests, sources, 4, &signals[0], 1, SHMEM_SIGNAL_SET, next);
  shmem_signal_add(&signals[1], 1, next);
  shmem_signal_set(&signals[1], 1, next);
  shmem_ctx_signal_add(SHMEM_CTX_DEFAULT, &signals[1], 1, next);
  shmem_ctx_signal_set(SHMEM_CTX_DEFAULT, &signals[1], 1, next);
  shmem_signal_wait_until(&signals[1], SHMEM_CMP_NE, 0);
  shmem_signal_fetch(&signals[1]);
  shmem_long_wait_until(words, SHMEM_CMP_EQ, 0);
  shmem_long_wait_until_all(words, 4, nullptr, SHMEM_CMP_EQ, 0);
  shmem_long_wait_until_any(words, 4, nullptr, SHMEM_CMP_EQ, 0);
  shmem_long_wait_until_some(words, 4, indices, nullptr, SHMEM_CMP_EQ, 0);
  shmem_long_wait_until_all_vector(words, 4, nullptr, SHMEM_CMP_EQ, wanted);
  shmem_long_wait_until_any_vector(words, 4, nullptr, SHMEM_CMP_EQ, wanted);
  shmem_long_wait_until_some_vector(words, 4, indices, nullptr, SHMEM_CMP_EQ, wanted);
  shmem_long_test(words, SHMEM_CMP_EQ, 0);
  shmem_long_test_all(words, 4, nullptr, SHMEM_CMP_EQ, 0);
  shmem_long_test_any(words, 4, nullptr, SHMEM_CMP_EQ, 0);
  shmem_long_test_some(words, 4, indices, nullptr, SHMEM_CMP_EQ, 0);
  shmem_long_test_all_vector(words, 4, nullptr, SHMEM_CMP_EQ, wanted);
  shmem_long_test_any_vector(words, 4, nullptr, SHMEM_CMP_EQ, wanted);
  shmem_long_test_some_vector(words, 4, indices, nullptr, SHMEM_CMP_EQ, wanted);
}

void meet(shmem_team_t team) {
  shmem_barrier_all();
  shmem_sync_all();
  shmem_team_sync(team);
  shmem_long_broadcast(team, dests, sources, 4, 0);
  shmem_long_collect(team, dests, sources, 4);
  shmem_long_fcollect(team, dests, sources, 4);
  shmem_long_alltoall(team, dests, sources, 2);
  shmem_long_alltoalls(team, dests, sources, 1, 1, 2);
  shmem_broadcastmem(team, dests, sources, 8, 0);
  shmem_uint_and_reduce(team, &bits, &bits, 1);
  shmem_uint_or_reduce(team, &bits, &bits, 1);
  shmem_uint_xor_reduce(team, &bits, &bits, 1);
  shmem_long_max_reduce(team, dests, sources, 4);
  shmem_long_min_reduce(team, dests, sources, 4);
  shmem_long_sum_reduce(team, dests, sources, 4);
  shmem_long_prod_reduce(team, dests, sources, 4);
  shmem_long_sum_inscan(team, dests, sources, 4);
  shmem_long_sum_exscan(team, dests, sources, 4);
}

void manage() {
  shmem_team_t row, column, all, found;
  shmem_ctx_t ctx;
  shmem_team_config_t config;
  void* block = shmem_malloc(100);
  block = shmem_realloc(block, 200);
  shmem_free(block);
  (void)shmem_calloc(4, 4);
  (void)shmem_align(64, 64);
  (void)shmem_malloc_with_hints(64, SHMEM_MALLOC_SIGNAL_REMOTE);
  const int n = shmem_n_pes();
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, nullptr, 0, &all);
  shmem_team_split_2d(SHMEM_TEAM_WORLD, n, nullptr, 0, &row, nullptr, 0, &column);
  shmem_team_get_config(all, SHMEM_TEAM_NUM_CONTEXTS, &config);
  next = (shmem_team_my_pe(all) + 1) % shmem_team_n_pes(all);
  shmem_team_translate_pe(all, 0, SHMEM_TEAM_WORLD);
  shmem_team_create_ctx(all, 0, &ctx);
  shmem_ctx_get_team(ctx, &found);
  move_data(ctx);
  shmem_ctx_destroy(ctx);
  shmem_ctx_create(0, &ctx);
  update();
  wait();
  meet(all);
  shmem_team_destroy(all);
}

}  // namespace

int main() {
  int provided;
  shmem_init_thread(SHMEM_THREAD_SINGLE, &provided);
  shmem_init();
  shmem_my_pe();
  manage();

  shmem_pcontrol(0);
  shmem_barrier_all();
  shmem_long_put(dests, sources, 4, next);
  shmem_pcontrol(1, "on again");

  shmem_p(&word, 2L, next);  // the overload of shmem_long_p
  shmem_finalize();
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
