// SPDX-License-Identifier: Apache-2.0
//
// Collectives one after another, of random kinds and sizes and without a barrier between them,
// while one PE or another sleeps. Every PE's result is compared with a serial model. Then source
// and dest are overwritten at once, so that a wrong value or ThreadSanitizer shows a PE that still
// uses them.
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "collectives/combine.hpp"
#include "collectives/data_movement.hpp"
#include "collectives/reduction.hpp"
#include "collectives/sync.hpp"
#include "pe_threads.hpp"

namespace meshmem {
namespace {

using Pe = PeThreads::Pe;
using Word = std::uint32_t;

enum class Kind {
  one_shot,
  two_shot,
  any_reduce,
  inclusive_scan,
  exclusive_scan,
  fcollect,
  collect,
  alltoall,
  alltoalls,
  broadcast,  // this and what follows has a root, or moves nothing
  sync,
  sync_flat,
  sync_dissemination,
  sync_counting
};
constexpr int kKinds = 14;

// One operation of a script, which all PEs read alike.
struct Step {
  Kind kind;
  std::size_t count;   // of words
  bool in_place;       // where the routine allows it
  int root;            // PE of the team
  int sleeper;         // the PE that comes late; nobody if there is no such PE
  std::uint64_t salt;  // of the data
};

std::size_t random_count(std::mt19937_64& random) {
  switch (random() % 8) {
    case 0:
      return 1 + random() % (kStageBytes / 2);  // up to two stages
    case 1:
    case 2:
      return 1 + random() % 3000;
    default:
      return 1 + random() % 40;  // around what a line holds
  }
}

Step random_step(std::mt19937_64& random, Kind kind, int n) {
  const auto pes = static_cast<std::size_t>(n);
  Step step{kind,
            random_count(random),
            random() % 2 == 0,
            static_cast<int>(random() % pes),
            random() % 8 == 0 ? static_cast<int>(random() % pes) : -1,
            random()};
  const bool many_blocks = kind >= Kind::fcollect && kind <= Kind::alltoalls;
  if (many_blocks) step.count = 1 + step.count % 5000;
  return step;
}

std::vector<Step> random_script(std::uint64_t seed, std::size_t steps, int n) {
  std::mt19937_64 random(seed);
  std::vector<Step> script;
  while (script.size() < steps)
    script.push_back(random_step(random, static_cast<Kind>(random() % kKinds), n));
  return script;
}

// Word i of PE `pe` (of the team) in a step.
Word word_of(const Step& step, int pe, std::size_t i) {
  return static_cast<Word>(mixed(static_cast<std::uint64_t>(pe), i, step.salt));
}
Word sum_before(const Step& step, int end, std::size_t i) {
  Word sum = 0;
  for (int pe = 0; pe < end; ++pe) sum += word_of(step, pe, i);
  return sum;
}
std::size_t collected(const Step& step, int pe) {
  return (step.count + static_cast<std::size_t>(pe) * step.salt) % 777 / 2;
}

// The words that PE `me` of `n` finds in dest.
std::vector<Word> expected_dest(const Step& step, int n, int me) {
  std::vector<Word> dest;
  const auto append = [&](int pe, std::size_t begin, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) dest.push_back(word_of(step, pe, begin + i));
  };
  if (step.kind <= Kind::exclusive_scan) {
    const int terms = step.kind == Kind::exclusive_scan   ? me
                      : step.kind == Kind::inclusive_scan ? me + 1
                                                          : n;
    for (std::size_t i = 0; i < step.count; ++i) dest.push_back(sum_before(step, terms, i));
  } else if (step.kind == Kind::broadcast) {
    append(step.root, 0, step.count);
  } else if (step.kind <= Kind::alltoalls) {
    for (int pe = 0; pe < n; ++pe) {
      if (step.kind == Kind::fcollect) append(pe, 0, step.count);
      if (step.kind == Kind::collect) append(pe, 0, collected(step, pe));
      if (step.kind >= Kind::alltoall)
        append(pe, static_cast<std::size_t>(me) * step.count, step.count);
    }
  }
  return dest;
}

// How many words of its source a PE brings.
std::size_t source_words(const Step& step, int n, int me) {
  if (step.kind >= Kind::sync) return 0;
  if (step.kind == Kind::collect) return collected(step, me);
  const bool block_for_each = step.kind == Kind::alltoall || step.kind == Kind::alltoalls;
  return block_for_each ? step.count * static_cast<std::size_t>(n) : step.count;
}

constexpr std::ptrdiff_t kSourceStride = 2;  // of alltoalls; its dest is dense, as the model's

void call(const Step& step, NodeTeam& team, Word* dest, Word* source) {
  const Reduction sum = reduction<Sum, Word>();
  const std::size_t bytes = step.count * sizeof(Word);
  switch (step.kind) {
    case Kind::one_shot:
      return team.n > 1 ? reduce_one_shot(team, sum, dest, source, step.count)
                        : reduce(team, sum, dest, source, step.count);
    case Kind::two_shot:
      return team.n > 1 ? reduce_two_shot(team, sum, dest, source, step.count)
                        : reduce(team, sum, dest, source, step.count);
    case Kind::any_reduce:
      return reduce(team, sum, dest, source, step.count);
    case Kind::inclusive_scan:
      return scan(team, sum, dest, source, step.count, true);
    case Kind::exclusive_scan:
      return scan(team, sum, dest, source, step.count, false);
    case Kind::fcollect:
      return fcollect(team, dest, source, bytes);
    case Kind::collect:
      collect(team, dest, source, collected(step, team.me) * sizeof(Word));
      return;
    case Kind::alltoall:
      return alltoall(team, alltoalls_of(dest, source, sizeof(Word), step.count, 1, 1));
    case Kind::alltoalls:
      return alltoall(team, alltoalls_of(dest, source, sizeof(Word), step.count, 1, kSourceStride));
    case Kind::broadcast:
      return broadcast(team, dest, source, bytes, step.root);
    case Kind::sync:
      return sync(team);
    case Kind::sync_flat:
      return sync_flat(team);
    case Kind::sync_dissemination:
      return sync_dissemination(team);
    case Kind::sync_counting:
      return sync_counting(team);
  }
}

constexpr std::size_t kMostPes = 8;
constexpr std::size_t kHalfWords = kMostPes * 5000 * 2;  // a source of alltoalls with its stride
constexpr std::size_t kHeapBytes = 2 * kHalfWords * sizeof(Word);

void run_step(const Step& step, const Pe& pe, NodeTeam& team) {
  const std::size_t words = source_words(step, team.n, team.me);
  const std::size_t stride = step.kind == Kind::alltoalls ? kSourceStride : 1;
  auto* source = reinterpret_cast<Word*>(pe.heap);
  const bool in_place =
      step.in_place && (step.kind <= Kind::exclusive_scan || step.kind == Kind::broadcast);
  Word* dest = in_place ? source : source + kHalfWords;
  for (std::size_t i = 0; i < words; ++i) source[i * stride] = word_of(step, team.me, i);
  if (step.sleeper == team.me)
    std::this_thread::sleep_for(std::chrono::microseconds(step.salt % 500));
  call(step, team, dest, source);
  const std::vector<Word> expected = expected_dest(step, team.n, team.me);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), dest))
      << "kind " << static_cast<int>(step.kind) << ", " << step.count << " words, PE " << team.me
      << " of " << team.n << ", root " << step.root << ", operation " << team.sequence;
  std::fill_n(dest, expected.size(), 0xdeadu);
  std::fill_n(source, words * stride, 0xdeadu);
}

void run_script(PeThreads& job, const std::vector<Step>& script, std::uint64_t first_sequence) {
  job.run([&](Pe& pe) {
    NodeTeam team = pe.world(first_sequence);
    for (const Step& step : script) run_step(step, pe, team);
  });
}

class Mixed : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Pes, Mixed, testing::Values(1, 2, 3, 4, 5, 7, 8),
                         [](const auto& info) { return std::to_string(info.param); });

TEST_P(Mixed, RandomOperationsBackToBackDoAsTheModel) {
  PeThreads job(GetParam(), kHeapBytes);
  run_script(job, random_script(test_seed(), 300, GetParam()), 0);
}

TEST_P(Mixed, SmallOperationsBackToBackDoAsTheModel) {
  // Only data that travels in lines, so that PEs get as far ahead of each other as they can.
  std::vector<Step> script = random_script(test_seed(), 1000, GetParam());
  for (Step& step : script) step.count = 1 + step.count % 14;
  PeThreads job(GetParam(), kHeapBytes);
  run_script(job, script, 0);
}

TEST_P(Mixed, SequenceNumbersMayPassTheTopBitAndWrapAround) {
  const std::vector<Step> script = random_script(test_seed(), 80, GetParam());
  // Half way round, and all the way.
  for (const std::uint64_t start : {(std::uint64_t{1} << 63) - 30, ~std::uint64_t{0} - 30}) {
    PeThreads job(GetParam(), kHeapBytes);
    job.age_areas(start);
    run_script(job, script, start);
  }
}

// Broadcasts and now and then something that all wait for.
std::vector<Step> rooted_script(std::uint64_t seed, int n, std::size_t most_words,
                                int all_to_all_every) {
  std::mt19937_64 random(seed);
  std::vector<Step> script;
  for (int i = 0; i < 400; ++i) {
    const bool rooted = i % all_to_all_every != 0;
    const Kind kind = rooted ? Kind::broadcast : static_cast<Kind>(random() % kKinds);
    script.push_back(random_step(random, kind, n));
    script.back().count = 1 + script.back().count % most_words;
  }
  return script;
}

TEST_P(Mixed, ARootDoesNotOverwriteWhatSlowPesStillRead) {
  const std::uint64_t seed = test_seed();
  std::vector<std::vector<Step>> scripts;
  scripts.push_back(rooted_script(seed, GetParam(), 14, 1000));    // in a line
  scripts.push_back(rooted_script(seed, GetParam(), 280, 1000));   // in several
  scripts.push_back(rooted_script(seed, GetParam(), 2000, 1000));  // in stages
  scripts.push_back(rooted_script(seed, GetParam(), 12'000, 30));  // of all sorts
  scripts.push_back(rooted_script(seed, GetParam(), 30, 5));
  for (const std::size_t of_one_root : {0u, 1u}) {  // where it gets as far ahead as it may
    scripts.push_back(scripts[of_one_root]);
    for (Step& step : scripts.back()) step.root = 0;
  }
  for (const std::vector<Step>& script : scripts) {
    PeThreads job(GetParam(), kHeapBytes);
    run_script(job, script, 0);
  }
}

std::vector<int> shuffled_some(std::mt19937_64& random, int n) {
  std::vector<int> pes(static_cast<std::size_t>(n));
  std::iota(pes.begin(), pes.end(), 0);
  std::shuffle(pes.begin(), pes.end(), random);
  pes.resize(1 + random() % pes.size());
  return pes;
}

TEST_P(Mixed, TeamsThatShareMembersAndSlotsKeepApart) {
  constexpr int kSlots = 3, kGenerations = 6, kSteps = 40;
  const std::uint64_t seed = test_seed();
  PeThreads job(GetParam(), kHeapBytes, kSlots);
  std::barrier agreement(GetParam());
  job.run([&](Pe& pe) {
    std::mt19937_64 random(seed);  // the same in all PEs
    std::uint64_t highest = 0;     // sequence number that any team has reached
    for (int generation = 0; generation < kGenerations; ++generation) {
      std::vector<NodeTeam> teams;
      for (int slot = 0; slot < kSlots; ++slot)
        teams.push_back(pe.team(shuffled_some(random, GetParam()), slot, highest));
      std::uint64_t counted = highest;
      for (int i = 0; i < kSteps; ++i) {
        NodeTeam& team = teams[random() % kSlots];
        Step step = random_step(random, static_cast<Kind>(random() % kKinds), team.n);
        step.count = 1 + step.count % 900;
        if (team.me >= 0) run_step(step, pe, team);
        counted += 8;  // no step here takes as many operations
      }
      // As shmem_team_destroy does, before the areas are used again.
      for (NodeTeam& team : teams)
        if (team.me >= 0) sync(team);
      highest = counted + 1;
      agreement.arrive_and_wait();  // on slots that all PEs have done with, as a split makes it
    }
  });
}

}  // namespace
}  // namespace meshmem
