// SPDX-License-Identifier: Apache-2.0
// A program that knows PMIx but nothing of meshmem, with which the launch tests try oshrun by
// itself. Invariant: it waits for others only in PMIx, or in sleep() for at most a minute. Usage:
// pmix_client exchange ROUNDS | abort PE CODE [sleep|fence|now] | leave PE | node
#include <pmix.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pmix_proc_t me;

static void must(pmix_status_t status, const char* what) {
  if (status == PMIX_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", what, PMIx_Error_string(status));
  _exit(9);
}

static pmix_proc_t proc_of(pmix_rank_t rank) {
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, me.nspace, rank);
  return proc;
}

static void fence(bool collect) {
  pmix_proc_t all = proc_of(PMIX_RANK_WILDCARD);
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
  must(PMIx_Fence(&all, 1, &info, 1), "fence");
}

static pmix_value_t* get(pmix_rank_t rank, const char* key) {
  pmix_proc_t proc = proc_of(rank);
  pmix_value_t* value = NULL;
  must(PMIx_Get(&proc, key, NULL, 0, &value), key);
  return value;
}

static uint32_t job_size(void) { return get(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE)->data.uint32; }

static void exchange(int round) {
  char key[32], text[32];
  snprintf(key, sizeof key, "test.%d", round);
  snprintf(text, sizeof text, "round %d of %u", round, me.rank);
  pmix_value_t value = {.type = PMIX_STRING, .data.string = text};
  must(PMIx_Put(PMIX_GLOBAL, key, &value), "put");
  must(PMIx_Commit(), "commit");
  fence(true);
  for (uint32_t rank = 0; rank < job_size(); ++rank) {
    snprintf(text, sizeof text, "round %d of %u", round, rank);
    if (strcmp(get(rank, key)->data.string, text) != 0) must(PMIX_ERR_BAD_PARAM, "wrong value");
  }
  fence(false);
}

static int end_with_abort(char** words) {
  if (words[2] == NULL || strcmp(words[2], "now") != 0) fence(false);
  if (me.rank == (pmix_rank_t)atoi(words[0])) {
    usleep(50000);  // so that the others are where they should be
    PMIx_Abort(atoi(words[1]), NULL, NULL, 0);
    _exit(atoi(words[1]));
  }
  if (words[2] != NULL && strcmp(words[2], "fence") == 0) fence(false);
  sleep(60);
  return 8;
}

static int leave_without_finalize(const char* who) {
  fence(false);
  if (me.rank == (pmix_rank_t)atoi(who)) _exit(0);
  sleep(60);
  return 8;
}

static void print_node(void) {
  printf("%u host %s peers %s size %u\n", me.rank, get(me.rank, PMIX_HOSTNAME)->data.string,
         get(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS)->data.string,
         get(PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE)->data.uint32);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  must(PMIx_Init(&me, NULL, 0), "init");
  if (strcmp(argv[1], "abort") == 0) return end_with_abort(argv + 2);
  if (strcmp(argv[1], "leave") == 0) return leave_without_finalize(argv[2]);
  if (strcmp(argv[1], "node") == 0) print_node();
  if (strcmp(argv[1], "exchange") == 0) {
    for (int round = 0; round < atoi(argv[2]); ++round) exchange(round);
    printf("PE %u of %u\n", me.rank, job_size());
  }
  fflush(stdout);
  fence(false);
  must(PMIx_Finalize(NULL, 0), "finalize");
  return 0;
}
