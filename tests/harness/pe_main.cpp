// SPDX-License-Identifier: Apache-2.0
//
// The main program of every test that runs over several PEs: each PE runs all of the tests, PE 0
// reports as GoogleTest does, the others report their failures only. Every API test of tests/api is
// linked with it. Invariant: the verdict is the exit status of each PE, which the launcher judges;
// nothing of it passes through meshmem.
#include <gtest/gtest.h>
#include <shmem.h>

#include <cstdio>
#include <memory>

namespace {

// Keeps the PEs in step, so that a test may reuse the symmetric variables of the one before it.
class InStep : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { meet(); }
  void OnTestEnd(const testing::TestInfo&) override { meet(); }

  static void meet() {
    int initialized = 0;
    shmem_query_initialized(&initialized);
    if (initialized) shmem_barrier_all();
  }
};

// Prints for the PEs other than 0: each failure, under the PE's number.
class FailuresOnly : public testing::EmptyTestEventListener {
 public:
  explicit FailuresOnly(int pe) : pe_(pe) {}

 private:
  void OnTestStart(const testing::TestInfo& test) override { test_ = &test; }
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::printf("[PE %d] %s.%s failed at %s:%d\n%s\n", pe_, test_ ? test_->test_suite_name() : "",
                test_ ? test_->name() : "", result.file_name() ? result.file_name() : "?",
                result.line_number(), result.message());
    std::fflush(stdout);
  }

  int pe_;
  const testing::TestInfo* test_ = nullptr;
};

void report_as(int pe) {
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (pe != 0) {
    std::unique_ptr<testing::TestEventListener>(
        listeners.Release(listeners.default_result_printer()));
    std::unique_ptr<testing::TestEventListener>(
        listeners.Release(listeners.default_xml_generator()));
    listeners.Append(new FailuresOnly(pe));
  }
  listeners.Append(new InStep);
}

// A filter that matches nothing must not look like success.
int run_tests() {
  int failed = RUN_ALL_TESTS();
  if (testing::UnitTest::GetInstance()->test_to_run_count() > 0) return failed;
  std::fprintf(stderr, "pe_main: no test matches --gtest_filter=%s\n",
               GTEST_FLAG_GET(filter).c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int provided = -1;
  if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0 ||
      provided != SHMEM_THREAD_MULTIPLE) {
    std::fprintf(stderr, "pe_main: shmem_init_thread granted level %d, not MULTIPLE\n", provided);
    return 1;
  }
  report_as(shmem_my_pe());
  int failed = run_tests();
  std::fflush(nullptr);
  shmem_finalize();
  return failed;
}
