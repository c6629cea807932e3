// SPDX-License-Identifier: Apache-2.0
//
// What an observer sees of routines and of the memory that they touch, where traces are built in;
// without them: that nothing is left of the hooks. The PE is alone, so that no launcher is needed.
#include "base/trace.hpp"

#include <gtest/gtest.h>
#include <shmem.h>
#include <shmemx.h>

#include <algorithm>
#include <string>
#include <vector>

namespace meshmem {
namespace {

struct Access {
  AccessKind kind;
  const void* address;
  std::size_t bytes;
  int pe;
  bool operator==(const Access&) const = default;
};
std::vector<std::string>& events() {
  static std::vector<std::string> seen;
  return seen;
}
std::vector<Access>& accesses() {
  static std::vector<Access> seen;
  return seen;
}

const TraceObserver kObserver{
    .begin = [](const char* routine) { events().push_back(std::string("begin ") + routine); },
    .end = [](const char* routine) { events().push_back(std::string("end ") + routine); },
    .access =
        [](AccessKind kind, const void* address, std::size_t bytes, int pe) {
          accesses().push_back({kind, address, bytes, pe});
        }};

#if MESHMEM_TRACE

class Trace : public testing::Test {
 protected:
  static void SetUpTestSuite() { shmem_init(); }
  static void TearDownTestSuite() { shmem_finalize(); }
  void SetUp() override {
    word_ = static_cast<long*>(shmem_calloc(4, sizeof(long)));
    events().clear();
    accesses().clear();
    trace_observer = &kObserver;
  }
  void TearDown() override {
    trace_observer = nullptr;
    shmem_free(word_);
  }
  static std::vector<std::string> span(const std::string& routine) {
    return {"begin " + routine, "end " + routine};
  }
  long* word_ = nullptr;
};

TEST_F(Trace, SpansBeginAndEndWithEachRoutine) {
  shmem_long_p(word_, 7, 0);
  EXPECT_EQ(events(), span("shmem_long_p"));
  events().clear();
  shmem_ctx_long_p(SHMEM_CTX_DEFAULT, word_, 7, 0);
  EXPECT_EQ(events(), span("shmem_ctx_long_p"));
  events().clear();
  shmem_barrier_all();
  EXPECT_EQ(events(), span("shmem_barrier_all"));
}

TEST_F(Trace, SpansHaveResultsAndDeprecatedNamesAndExtensions) {
  *word_ = 5;
  EXPECT_EQ(shmem_long_g(word_, 0), 5);
  EXPECT_EQ(_num_pes(), 1);
  EXPECT_NE(shmemx_reduce_plan("no plan"), 0);
  std::vector<std::string> expected;
  for (const char* name : {"shmem_long_g", "_num_pes", "shmemx_reduce_plan"}) {
    for (const std::string& event : span(name)) expected.push_back(event);
  }
  EXPECT_EQ(events(), expected);
}

TEST_F(Trace, SpansSeeCollectivesOnStreams) {
  auto* memory =
      static_cast<float*>(shmem_malloc_with_hints(4 * sizeof(float), SHMEMX_MALLOC_DEVICE));
  if (!memory) GTEST_SKIP() << "no device";
  events().clear();
  accesses().clear();
  EXPECT_EQ(shmemx_float_sum_reduce_on_stream(SHMEM_TEAM_WORLD, memory, memory, 4, nullptr), 0);
  EXPECT_EQ(events(), span("shmemx_float_sum_reduce_on_stream"));
  const Access buffer{AccessKind::collective, memory, 4 * sizeof(float), 0};
  EXPECT_EQ(accesses(), (std::vector<Access>{buffer, buffer}));
  shmemx_mark_t mark = nullptr;  // the stream is done with the memory before that is freed
  shmemx_stream_mark(&mark, nullptr);
  shmemx_stream_mark_wait(&mark);
  shmem_free(memory);
}

TEST_F(Trace, AccessesAreThoseOfTheSymmetricEnd) {
  long here[2] = {1, 2};
  shmem_long_p(word_, 7, 0);
  (void)shmem_long_g(word_ + 1, 0);
  shmem_long_put(word_, here, 2, 0);
  shmem_long_get(here, word_ + 2, 2, 0);
  (void)shmem_long_atomic_fetch_add(word_, 1, 0);
  shmem_signal_set(reinterpret_cast<std::uint64_t*>(word_ + 3), 1, 0);
  shmem_long_iput(word_, here, 2, 1, 2, 0);
  const std::vector<Access> expected{
      {AccessKind::put, word_, 8, 0},    {AccessKind::get, word_ + 1, 8, 0},
      {AccessKind::put, word_, 16, 0},   {AccessKind::get, word_ + 2, 16, 0},
      {AccessKind::atomic, word_, 8, 0}, {AccessKind::signal, word_ + 3, 8, 0},
      {AccessKind::put, word_, 24, 0}};
  EXPECT_EQ(accesses(), expected);
}

TEST_F(Trace, AccessesOfCollectivesAreTheirBuffers) {
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, word_, word_ + 2, 2);
  const std::vector<Access> expected{{AccessKind::collective, word_, 16, 0},
                                     {AccessKind::collective, word_ + 2, 16, 0}};
  EXPECT_EQ(accesses(), expected);
}

#else

TEST(Trace, IsNotBuiltIn) {
  static_assert(!kHasTrace);
  static_assert(sizeof(TraceSpan) == 1);
  const TraceSpan span("shmem_long_p");
  note_access(AccessKind::put, &kObserver, 8, 0);
  EXPECT_TRUE(events().empty() && accesses().empty());
}

#endif

}  // namespace
}  // namespace meshmem
