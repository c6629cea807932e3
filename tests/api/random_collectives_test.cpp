// SPDX-License-Identifier: Apache-2.0
//
// Random collectives on random teams, one after another. Teams are splits of splits, strided,
// reversed and in two dimensions, and several that share PEs are in use at once. Counts go from
// none to many slices, in place and not, on the heap and on static data. MESHMEM_TEST_SEED repeats
// a run, MESHMEM_TEST_SECONDS says how long it is.
// Invariant: all PEs draw the same numbers, also for calls that they have no part in, so they agree
// on every call and know all data.
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "random_numbers.hpp"
#include "random_routines.hpp"

// No PE waits for another between two calls, except where it has just used the result. The library
// allows that for the same buffers too (docs/memory_model.md, rule 10).

namespace meshmem {
namespace {

constexpr size_t kHeapHalf = size_t{1} << 20, kStaticHalf = size_t{1} << 17;
constexpr size_t kGuard = 64;  // bytes around a dest that must stay
alignas(64) unsigned char static_arena[2 * kStaticHalf];

void add_combining(std::vector<Routine>& all) {
  const auto add = [&](const char* name, Op op, Terms terms, auto* call) {
    all.push_back(combine_routine(name, op, terms, call));
  };
  add("int_sum_reduce", Op::kSum, Terms::all, shmem_int_sum_reduce);
  add("int_max_reduce", Op::kMax, Terms::all, shmem_int_max_reduce);
  add("short_prod_reduce", Op::kProd, Terms::all, shmem_short_prod_reduce);
  add("uint64_xor_reduce", Op::kXor, Terms::all, shmem_uint64_xor_reduce);
  add("uint64_and_reduce", Op::kAnd, Terms::all, shmem_uint64_and_reduce);
  add("uchar_or_reduce", Op::kOr, Terms::all, shmem_uchar_or_reduce);
  add("uchar_min_reduce", Op::kMin, Terms::all, shmem_uchar_min_reduce);
  add("double_sum_reduce", Op::kSum, Terms::all, shmem_double_sum_reduce);
  add("float_min_reduce", Op::kMin, Terms::all, shmem_float_min_reduce);
  add("complexd_prod_reduce", Op::kProd, Terms::all, shmem_complexd_prod_reduce);
  add("longdouble_sum_reduce", Op::kSum, Terms::all, shmem_longdouble_sum_reduce);
  add("long_sum_inscan", Op::kSum, Terms::with_me, shmem_long_sum_inscan);
  add("float_sum_inscan", Op::kSum, Terms::with_me, shmem_float_sum_inscan);
  add("short_sum_exscan", Op::kSum, Terms::before_me, shmem_short_sum_exscan);
  add("double_sum_exscan", Op::kSum, Terms::before_me, shmem_double_sum_exscan);
}

std::vector<Routine> make_routines() {
  std::vector<Routine> all;
  add_moves(all, collective_mem());
  add_moves(all, Collective<short>{"short",
                                   MESHMEM_OPS_COLLECTIVE(MESHMEM_VALUE, short_, , short, short)});
  add_moves(all, Collective<uint64_t>{"uint64", MESHMEM_OPS_COLLECTIVE(MESHMEM_VALUE, uint64_, ,
                                                                       uint64_t, uint64_t)});
  add_combining(all);
  const auto barrier = [](shmem_team_t) { return shmem_barrier_all(), 0; };
  const auto sync_all = [](shmem_team_t) { return shmem_sync_all(), 0; };
  for (int i = 0; i < 2; ++i) all.push_back(meeting("team_sync", false, shmem_team_sync));
  all.push_back(meeting("barrier_all", true, barrier));
  all.push_back(meeting("sync_all", true, sync_all));
  return all;
}

size_t random_count(Random& random) {
  const size_t most[] = {1, 2, 9, 40, 40, 300, 300, 3000, 3000, 30000};
  return random.below(most[random.below(std::size(most))] + 1);
}

class Player {
 public:
  explicit Player(unsigned char* heap) : heap_(heap), routines_(make_routines()) {}

  // Plays some hundred calls that follow from the seed.
  void play(uint64_t seed) {
    seed_ = seed;
    Random random(seed);
    teams_ = {world_view(), world_view()};
    if (!is_far_pe_there()) teams_[1].team = SHMEM_TEAM_SHARED;  // nodes would draw other roots
    for (number_ = 0; number_ < 200; ++number_) {
      const size_t dice = random.below(24);
      if (dice == 0 && teams_.size() < 12) {
        split_strided(random);
      } else if (dice == 1 && teams_.size() < 12) {
        split_2d(random);
      } else if (dice == 2 && teams_.size() > 2) {
        destroy(2 + random.below(teams_.size() - 2));
      } else {
        call(random);
      }
    }
    while (teams_.size() > 2) destroy(2 + random.below(teams_.size() - 2));
  }
  size_t calls() const { return calls_; }

 private:
  void fail(const std::string& what) {
    ADD_FAILURE() << what << ", call " << number_ << " of a run that MESHMEM_TEST_SEED=" << seed_
                  << " repeats";
    shmem_global_exit(1);  // the others wait in calls that this PE will not make
  }

  static int position(const std::vector<int>& pes) {
    for (size_t i = 0; i < pes.size(); ++i)
      if (pes[i] == my_pe()) return static_cast<int>(i);
    return -1;
  }
  void add_team(shmem_team_t handle, std::vector<int> pes, bool mine) {
    TeamView view{mine ? handle : SHMEM_TEAM_INVALID, position(pes), std::move(pes)};
    if (mine && view.me != shmem_team_my_pe(handle)) fail("a split gave another team");
    teams_.push_back(std::move(view));
  }

  void split_strided(Random& random) {
    const TeamView parent = teams_[random.below(teams_.size())];
    const int n = parent.n();
    const int start = random.between(0, n - 1), stride = random.between(-3, 3),
              size = random.between(1, n);
    std::vector<int> pes;
    for (int i = 0; i < size; ++i) {
      const int pe = start + i * stride;
      if (pe >= 0 && pe < n) pes.push_back(parent.pes[static_cast<size_t>(pe)]);
    }
    const bool valid = static_cast<int>(pes.size()) == size && (stride != 0 || size == 1);
    shmem_team_t made = SHMEM_TEAM_WORLD;
    if (parent.me >= 0) {
      const int result =
          shmem_team_split_strided(parent.team, start, stride, size, nullptr, 0, &made);
      if ((result == 0) != valid) fail("split_strided returned " + std::to_string(result));
      if ((made != SHMEM_TEAM_INVALID) != (valid && position(pes) >= 0))
        fail("split_strided gave a wrong handle");
    }
    if (valid) add_team(made, pes, position(pes) >= 0);
  }

  void split_2d(Random& random) {
    const TeamView parent = teams_[random.below(teams_.size())];
    const int n = parent.n();
    const int xrange = random.between(1, n + 1);
    const auto width = static_cast<size_t>(std::min(xrange, n));
    shmem_team_t row = SHMEM_TEAM_INVALID, column = SHMEM_TEAM_INVALID;
    if (parent.me >= 0 &&
        shmem_team_split_2d(parent.team, xrange, nullptr, 0, &row, nullptr, 0, &column) != 0)
      fail("split_2d failed");
    std::vector<std::vector<int>> rows((parent.size() + width - 1) / width), columns(width);
    for (size_t pe = 0; pe < parent.size(); ++pe) {
      rows[pe / width].push_back(parent.pes[pe]);
      columns[pe % width].push_back(parent.pes[pe]);
    }
    for (const auto& pes : rows) add_team(row, pes, position(pes) >= 0);
    for (const auto& pes : columns) add_team(column, pes, position(pes) >= 0);
  }

  void destroy(size_t index) {
    shmem_team_destroy(teams_[index].team);  // SHMEM_TEAM_INVALID if this PE is no member
    teams_.erase(teams_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  Step draw(Random& random, const TeamView& view, bool world) {
    Step step;
    do {
      step.routine = &routines_[random.below(routines_.size())];
    } while (step.routine->world_only && !world);
    const Kind kind = step.routine->kind;
    const size_t elem = step.routine->elem_bytes;
    step.in_statics = random.one_in(3);
    step.salt = random.bits();
    step.root = static_cast<int>(random.below(view.size()));
    if (kind == Kind::alltoalls) {
      step.dest_stride = 1 + random.below(3);
      step.source_stride = 1 + random.below(3);
    }
    step.in_place =
        (kind == Kind::reduce || kind == Kind::scan || kind == Kind::broadcast) && random.one_in(3);
    step.sleeper = random.one_in(8) ? static_cast<int>(random.below(view.size())) : -1;
    const size_t half = (step.in_statics ? kStaticHalf : kHeapHalf) - 2 * kGuard;
    step.count = random_count(random);
    while (std::max(most_elems(step, view), dest_elems(step, view)) * elem > half) step.count /= 2;
    const size_t source_room = half / elem - most_elems(step, view);
    const size_t dest_room = half / elem - dest_elems(step, view);
    const size_t swap = random.below(2) * (half + 2 * kGuard) / elem;
    const size_t other = (half + 2 * kGuard) / elem - swap;
    step.source_at = swap + kGuard / elem + random.below(std::min<size_t>(source_room, 5000) + 1);
    step.dest_at = other + kGuard / elem + random.below(std::min<size_t>(dest_room, 5000) + 1);
    if (step.in_place) step.dest_at = step.source_at;
    return step;
  }
  static size_t most_elems(const Step& step, const TeamView& view) {
    return step.routine->kind == Kind::collect ? step.count : source_elems(step, view, 0);
  }

  void call(Random& random) {
    const size_t index = random.below(teams_.size());
    const TeamView& view = teams_[index];
    const Step step = draw(random, view, index == 0);
    if (view.me >= 0) run(step, view);
  }

  void run(const Step& step, const TeamView& view) {
    const Routine& routine = *step.routine;
    unsigned char* arena = step.in_statics ? static_arena : heap_;
    unsigned char* source = arena + step.source_at * routine.elem_bytes;
    unsigned char* dest = arena + step.dest_at * routine.elem_bytes;
    const size_t bytes = dest_elems(step, view) * routine.elem_bytes;
    std::memset(dest - kGuard, kUntouched, bytes + 2 * kGuard);
    routine.fill(step, view, source);
    if (step.sleeper == view.me)
      std::this_thread::sleep_for(std::chrono::microseconds(step.salt % 300));
    ++calls_;
    if (routine.call(step, view, dest, source) != 0) fail(describe(step, view) + ": not zero");
    const long wrong = routine.first_wrong(step, view, dest);
    if (wrong >= 0) fail(describe(step, view) + ": element " + std::to_string(wrong));
    for (size_t i = 0; i < kGuard; ++i) {
      if (dest[-1 - static_cast<std::ptrdiff_t>(i)] != kUntouched || dest[bytes + i] != kUntouched)
        fail(describe(step, view) + ": wrote beyond dest");
    }
    // Shows a PE that still reads this source or writes this dest.
    std::memset(dest, 0xee, bytes);
    std::memset(source, 0xdd,
                source_elems(step, view, static_cast<size_t>(view.me)) * routine.elem_bytes);
  }

  std::string describe(const Step& step, const TeamView& view) const {
    std::string pes;
    for (int pe : view.pes) pes += (pes.empty() ? "" : " ") + std::to_string(pe);
    return std::string(step.routine->name) + " of " + std::to_string(step.count) + " x " +
           std::to_string(step.routine->elem_bytes) + " bytes" +
           (step.in_place ? ", in place" : "") + (step.in_statics ? ", static" : "") + ", root " +
           std::to_string(step.root) + ", strides " + std::to_string(step.dest_stride) + " " +
           std::to_string(step.source_stride) + ", on PE " + std::to_string(view.me) + " of (" +
           pes + ")";
  }

  unsigned char* heap_;
  std::vector<Routine> routines_;
  std::vector<TeamView> teams_;
  uint64_t seed_ = 0;
  int number_ = 0;
  size_t calls_ = 0;
};

TEST(RandomCollectives, DoAsTheModel) {
  const double seconds = seconds_to_play(0.7);
  const uint64_t first = agreed_seed();
  if (my_pe() == 0)
    std::printf("seed %llu (MESHMEM_TEST_SEED repeats it)\n",
                static_cast<unsigned long long>(first));
  SymmetricArray<unsigned char> heap(2 * kHeapHalf);
  Player player(heap.data());
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  size_t runs = 0;
  for (uint64_t seed = first; agreed(std::chrono::steady_clock::now() < end);
       seed = scramble(seed)) {
    player.play(seed);
    ++runs;
  }
  EXPECT_GT(runs, 0u);
  if (my_pe() == 0) std::printf("%zu runs, %zu calls of PE 0\n", runs, player.calls());
}

}  // namespace
}  // namespace meshmem
