// SPDX-License-Identifier: Apache-2.0
// HIP on CPUs: streams, events, host functions, capture and graphs.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "hip_on_cpu.hpp"

namespace {

__global__ void write_value(int* to, int value) { *to = value; }
__global__ void copy_value(int* to, const int* from) { *to = *from; }

TEST(HipStreams, RunInOrderBesideTheHost) {
  const OnDevice<int> values(2);
  const OwnStream stream;
  Gate gate;
  gate.close(stream);
  hipLaunchKernelGGL(write_value, 1, 1, 0, stream, values.get(), 5);
  hipLaunchKernelGGL(copy_value, 1, 1, 0, stream, values.get() + 1, values.get());
  EXPECT_EQ(hipStreamQuery(stream), hipErrorNotReady);
  gate.open();
  EXPECT_HIP(hipStreamSynchronize(stream));
  EXPECT_HIP(hipStreamQuery(stream));
  EXPECT_EQ(values.values()[1], 5);
}

TEST(HipStreams, BlockTheDefaultStreamUnlessTheySayOtherwise) {
  const OnDevice<int> values(2);
  const OwnStream blocking, other(hipStreamNonBlocking);
  Gate gate;
  gate.close(blocking);
  hipLaunchKernelGGL(write_value, 1, 1, 0, nullptr, values.get(), 1);
  hipLaunchKernelGGL(write_value, 1, 1, 0, other, values.get() + 1, 2);
  EXPECT_HIP(hipStreamSynchronize(other));
  EXPECT_EQ(hipStreamQuery(nullptr), hipErrorNotReady);
  gate.open();
  EXPECT_EQ(values.values(), (std::vector<int>{1, 2}));  // the copy waits for the default stream
}

TEST(HipStreams, WaitForEventsOfOthers) {
  const OnDevice<int> values(2);
  const OwnStream first(hipStreamNonBlocking), second(hipStreamNonBlocking);
  hipEvent_t event;
  ASSERT_HIP(hipEventCreate(&event));
  EXPECT_HIP(hipEventQuery(event));
  Gate gate;
  gate.close(first);
  hipLaunchKernelGGL(write_value, 1, 1, 0, first, values.get(), 9);
  EXPECT_HIP(hipEventRecord(event, first));
  EXPECT_HIP(hipStreamWaitEvent(second, event, 0));
  hipLaunchKernelGGL(copy_value, 1, 1, 0, second, values.get() + 1, values.get());
  EXPECT_EQ(hipEventQuery(event), hipErrorNotReady);
  gate.open();
  EXPECT_HIP(hipStreamSynchronize(second));
  EXPECT_HIP(hipEventSynchronize(event));
  EXPECT_EQ(values.values()[1], 9);
  EXPECT_HIP(hipEventDestroy(event));
  EXPECT_EQ(hipEventDestroy(event), hipErrorInvalidHandle);
}

TEST(HipStreams, RecordEventsOfTheirOwnDeviceOnly) {
  const OwnStream here;
  hipEvent_t of_device_1;
  ASSERT_HIP(hipSetDevice(1));
  ASSERT_HIP(hipEventCreate(&of_device_1));
  {
    const OwnStream there;
    EXPECT_EQ(hipEventRecord(of_device_1, here), hipErrorInvalidHandle);
    EXPECT_HIP(hipEventRecord(of_device_1, nullptr));  // the default stream of device 1
    ASSERT_HIP(hipSetDevice(0));
    EXPECT_EQ(hipEventRecord(of_device_1, nullptr), hipErrorInvalidHandle);
    EXPECT_HIP(hipEventRecord(of_device_1, there));
    EXPECT_HIP(hipStreamWaitEvent(here, of_device_1, 0));  // any stream may wait for it
    EXPECT_HIP(hipEventSynchronize(of_device_1));
  }
  EXPECT_HIP(hipEventDestroy(of_device_1));
}

TEST(HipStreams, AreOfTheDeviceThatWasCurrent) {
  int device = -1;
  ASSERT_HIP(hipSetDevice(1));
  {
    const OwnStream there;
    ASSERT_HIP(hipSetDevice(0));
    EXPECT_HIP(hipStreamGetDevice(there, &device));
    EXPECT_EQ(device, 1);
    EXPECT_HIP(hipStreamGetDevice(nullptr, &device));  // the default stream of device 0
    EXPECT_EQ(device, 0);
    EXPECT_EQ(hipStreamGetDevice(there, nullptr), hipErrorInvalidValue);
  }
  EXPECT_EQ(hipStreamGetDevice(reinterpret_cast<hipStream_t>(2), &device), hipErrorInvalidHandle);
}

TEST(HipStreams, MeasureTime) {
  const OwnStream stream;
  hipEvent_t start, stop;
  ASSERT_HIP(hipEventCreate(&start));
  ASSERT_HIP(hipEventCreate(&stop));
  float milliseconds = -1;
  EXPECT_EQ(hipEventElapsedTime(&milliseconds, start, stop), hipErrorInvalidHandle);
  EXPECT_HIP(hipEventRecord(start, stream));
  EXPECT_HIP(hipLaunchHostFunc(
      stream, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }, nullptr));
  EXPECT_HIP(hipEventRecord(stop, stream));
  EXPECT_HIP(hipEventSynchronize(stop));
  EXPECT_HIP(hipEventElapsedTime(&milliseconds, start, stop));
  EXPECT_GE(milliseconds, 5);
  EXPECT_HIP(hipEventDestroy(start));
  EXPECT_HIP(hipEventDestroy(stop));
}

TEST(HipStreams, StageShortSourcesOfTheHost) {
  const OnDevice<int> value(1);
  const OwnStream stream;
  Gate gate;
  gate.close(stream);
  int source = 3;
  EXPECT_HIP(hipMemcpyAsync(value.get(), &source, sizeof(int), hipMemcpyHostToDevice, stream));
  source = 4;
  gate.open();
  EXPECT_HIP(hipStreamSynchronize(stream));
  EXPECT_EQ(value.values()[0], 3);
}

// As GPUs do, which have no other way to that memory than through a page of their own.
TEST(HipStreams, HaveFilledOrdinaryMemoryWhenTheCallReturns) {
  const OnDevice<int> first(1), second(1);
  const OwnStream stream;
  EXPECT_HIP(hipLaunchHostFunc(
      stream, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }, nullptr));
  hipLaunchKernelGGL(write_value, 1, 1, 0, stream, first.get(), 7);
  int between = 0;
  EXPECT_HIP(hipMemcpyAsync(&between, first.get(), sizeof(int), hipMemcpyDeviceToHost, stream));
  EXPECT_EQ(between, 7);
  EXPECT_HIP(hipMemcpyAsync(second.get(), &between, sizeof(int), hipMemcpyHostToDevice, stream));
  EXPECT_HIP(hipStreamSynchronize(stream));
  EXPECT_EQ(second.values()[0], 7);
}

TEST(HipStreams, AreKnownByTheirHandles) {
  const auto wrong = reinterpret_cast<hipStream_t>(std::uintptr_t{64});
  EXPECT_EQ(hipStreamSynchronize(wrong), hipErrorInvalidHandle);
  EXPECT_EQ(hipStreamDestroy(wrong), hipErrorInvalidHandle);
  EXPECT_EQ(hipStreamDestroy(nullptr), hipErrorInvalidHandle);
  hipLaunchKernelGGL(write_value, 1, 1, 0, wrong, nullptr, 0);
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidHandle);
}

__global__ void wait_for_ever(const int* flag) {
  while (__atomic_load_n(flag, __ATOMIC_RELAXED) == 0) hip_on_cpu::yield();
}

TEST(HipStreamsDeathTest, DoNotKeepAProcessFromItsEnd) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        static int never = 0;
        hipLaunchKernelGGL(wait_for_ever, 3, 40, 0, nullptr, &never);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        std::exit(5);
      },
      testing::ExitedWithCode(5), "");
}

__global__ void meet() { __syncthreads(); }  // so that each thread has a fiber

long count_lines(const char* path) {
  std::ifstream file(path);
  return std::count(std::istreambuf_iterator(file), {}, '\n');
}

long count_threads() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return std::distance(begin(threads), end(threads));
}

// At the end a sanitizer looks for leaks. While a thread is on a fiber to destroy that fiber, it
// misses what the thread's own stack refers to.
void fail_if_fibers_are_destroyed() {
  const long mappings = count_lines("/proc/self/maps"), threads = count_threads();
  for (int i = 0; i < 5000 && count_threads() == threads; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  _exit(count_lines("/proc/self/maps") > mappings - 1024 ? 5 : 6);
}

TEST(HipStreamsDeathTest, EndTheirThreadsWhileAProcessEnds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        std::atexit(fail_if_fibers_are_destroyed);  // after what the library does then
        hipLaunchKernelGGL(meet, 1, 1024, 0, nullptr);
        EXPECT_HIP(hipDeviceSynchronize());
        std::exit(7);
      },
      testing::ExitedWithCode(5), "");
}

__global__ void add_value(int* to, int value) { *to += value; }

TEST(HipGraphs, AreReplayedOnAnyStream) {
  const OnDevice<int> total(1);
  const OwnStream stream, other;
  hipGraph_t graph = nullptr;
  hipGraphExec_t executable = nullptr;
  ASSERT_HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  hipLaunchKernelGGL(add_value, 1, 1, 0, stream, total.get(), 2);
  hipLaunchKernelGGL(add_value, 1, 1, 0, stream, total.get(), 3);
  ASSERT_HIP(hipStreamEndCapture(stream, &graph));
  ASSERT_HIP(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  ASSERT_HIP(hipGraphDestroy(graph));
  EXPECT_EQ(total.values()[0], 0);  // recorded, not run
  for (int i = 0; i < 100; ++i) EXPECT_HIP(hipGraphLaunch(executable, stream));
  EXPECT_HIP(hipStreamSynchronize(stream));
  EXPECT_HIP(hipGraphLaunch(executable, other));
  EXPECT_HIP(hipGraphLaunch(executable, nullptr));
  EXPECT_EQ(total.values()[0], 102 * 5);
  EXPECT_HIP(hipGraphExecDestroy(executable));
  EXPECT_EQ(hipGraphLaunch(executable, other), hipErrorInvalidValue);
}

struct Turn {
  std::atomic<int> inside{0}, met{0}, taken{0};
};
void take(void* turn_of_all) {
  auto& turn = *static_cast<Turn*>(turn_of_all);
  turn.met += turn.inside++;
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  --turn.inside;
  ++turn.taken;
}

TEST(HipGraphs, AreNotRunBesideThemselves) {
  const OwnStream stream, other(hipStreamNonBlocking);
  Turn turn;
  hipGraph_t graph = nullptr;
  hipGraphExec_t executable = nullptr;
  ASSERT_HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  EXPECT_HIP(hipLaunchHostFunc(stream, &take, &turn));
  ASSERT_HIP(hipStreamEndCapture(stream, &graph));
  ASSERT_HIP(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 10; ++i) {
    EXPECT_HIP(hipGraphLaunch(executable, stream));
    EXPECT_HIP(hipGraphLaunch(executable, other));
  }
  EXPECT_HIP(hipStreamSynchronize(stream));
  EXPECT_HIP(hipStreamSynchronize(other));
  EXPECT_EQ(turn.taken, 20);
  EXPECT_EQ(turn.met, 0);
  EXPECT_HIP(hipGraphExecDestroy(executable));
  EXPECT_HIP(hipGraphDestroy(graph));
}

TEST(HipGraphs, CaptureStreamsThatEventsJoin) {
  const OnDevice<int> total(1);
  const OwnStream stream, side(hipStreamNonBlocking);
  hipEvent_t fork_event, join_event;
  ASSERT_HIP(hipEventCreateWithFlags(&fork_event, hipEventDisableTiming));
  ASSERT_HIP(hipEventCreateWithFlags(&join_event, hipEventDisableTiming));
  hipGraph_t graph = nullptr;
  for (const bool joined : {true, false}) {
    ASSERT_HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
    ASSERT_HIP(hipEventRecord(fork_event, stream));
    ASSERT_HIP(hipStreamWaitEvent(side, fork_event, 0));
    hipStreamCaptureStatus status;
    ASSERT_HIP(hipStreamIsCapturing(side, &status));
    EXPECT_EQ(status, hipStreamCaptureStatusActive);
    hipLaunchKernelGGL(add_value, 1, 1, 0, side, total.get(), 10);
    ASSERT_HIP(hipEventRecord(join_event, side));
    if (joined) {
      ASSERT_HIP(hipStreamWaitEvent(stream, join_event, 0));
      hipGraphExec_t executable = nullptr;
      ASSERT_HIP(hipStreamEndCapture(stream, &graph));
      ASSERT_HIP(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
      EXPECT_HIP(hipGraphLaunch(executable, stream));
      EXPECT_HIP(hipStreamSynchronize(stream));
      EXPECT_HIP(hipGraphExecDestroy(executable));
      EXPECT_HIP(hipGraphDestroy(graph));
    } else {
      EXPECT_EQ(hipStreamEndCapture(stream, &graph), hipErrorStreamCaptureUnjoined);
    }
  }
  EXPECT_EQ(total.values()[0], 10);
  EXPECT_HIP(hipEventDestroy(fork_event));
  EXPECT_HIP(hipEventDestroy(join_event));
}

TEST(HipGraphs, RefuseWhatWaitsOrAllocates) {
  const OnDevice<int> value(1);
  const OwnStream stream;
  hipGraph_t graph = nullptr;
  void* memory = nullptr;
  int host = 0;
  const auto refuses = [&](hipError_t error, auto call) {
    ASSERT_HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    EXPECT_EQ(call(), error);
    EXPECT_EQ(hipStreamEndCapture(stream, &graph), hipErrorStreamCaptureInvalidated);
    EXPECT_EQ(graph, nullptr);
  };
  refuses(hipErrorStreamCaptureUnsupported, [&] { return hipStreamSynchronize(stream); });
  refuses(hipErrorStreamCaptureUnsupported, [&] { return hipDeviceSynchronize(); });
  refuses(hipErrorStreamCaptureUnsupported, [&] { return hipMalloc(&memory, 8); });
  refuses(hipErrorStreamCaptureUnsupported,
          [&] { return hipMemcpy(&host, value.get(), 4, hipMemcpyDeviceToHost); });
  refuses(hipErrorStreamCaptureImplicit,
          [&] { return hipMemsetAsync(value.get(), 0, 4, nullptr); });
  hipEvent_t event;
  ASSERT_HIP(hipEventCreate(&event));
  refuses(hipErrorStreamCaptureUnsupported, [&] { return hipEventQuery(event); });
  refuses(hipErrorStreamCaptureUnsupported, [&] { return hipEventSynchronize(event); });
  hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
  ASSERT_HIP(hipThreadExchangeStreamCaptureMode(&mode));
  ASSERT_HIP(hipEventRecord(event, stream));  // refused all the same, as by AMD's runtime
  refuses(hipErrorCapturedEvent, [&] { return hipEventQuery(event); });
  refuses(hipErrorCapturedEvent, [&] { return hipEventSynchronize(event); });
  EXPECT_HIP(hipEventSynchronize(event));
  ASSERT_HIP(hipThreadExchangeStreamCaptureMode(&mode));
  EXPECT_HIP(hipEventDestroy(event));
  EXPECT_EQ(hipStreamBeginCapture(nullptr, hipStreamCaptureModeGlobal),
            hipErrorStreamCaptureUnsupported);
  EXPECT_EQ(hipStreamEndCapture(stream, &graph), hipErrorIllegalState);
}

// Checks what another thread and this one may call while `mode` captures, if their own mode is
// `of_thread`.
void expect_allowed(hipStreamCaptureMode mode, hipStreamCaptureMode of_thread, bool here,
                    bool elsewhere) {
  const OwnStream stream;
  const auto is_allowed = [&] {
    void* memory = nullptr;
    hipStreamCaptureMode said = of_thread;
    EXPECT_HIP(hipThreadExchangeStreamCaptureMode(&said));
    const hipError_t error = hipMalloc(&memory, 8);
    EXPECT_HIP(hipThreadExchangeStreamCaptureMode(&said));
    EXPECT_EQ(said, of_thread);
    hipGraph_t graph = nullptr;
    EXPECT_EQ(hipStreamEndCapture(stream, &graph) == hipSuccess, error == hipSuccess);
    if (graph != nullptr) {
      EXPECT_HIP(hipGraphDestroy(graph));
    }
    EXPECT_HIP(hipFree(memory));
    return error == hipSuccess;
  };
  ASSERT_HIP(hipStreamBeginCapture(stream, mode));
  EXPECT_EQ(is_allowed(), here) << mode << of_thread;
  ASSERT_HIP(hipStreamBeginCapture(stream, mode));
  bool allowed_in_other_thread = false;
  std::thread([&] {
    hipStreamCaptureMode said = of_thread;
    void* memory = nullptr;
    EXPECT_HIP(hipThreadExchangeStreamCaptureMode(&said));
    EXPECT_EQ(said, hipStreamCaptureModeGlobal);  // of every new thread
    allowed_in_other_thread = hipMalloc(&memory, 8) == hipSuccess;
    if (allowed_in_other_thread) {
      EXPECT_HIP(hipFree(memory));
    }
  }).join();
  EXPECT_EQ(allowed_in_other_thread, elsewhere) << mode << of_thread;
  hipGraph_t graph = nullptr;
  EXPECT_EQ(hipStreamEndCapture(stream, &graph) == hipSuccess, elsewhere);
  if (graph != nullptr) {
    EXPECT_HIP(hipGraphDestroy(graph));
  }
}

TEST(HipGraphs, ForbidThreadsWhatTheyHaveNotSaidTheyMean) {
  constexpr auto kGlobal = hipStreamCaptureModeGlobal, kLocal = hipStreamCaptureModeThreadLocal,
                 kRelaxed = hipStreamCaptureModeRelaxed;
  expect_allowed(kGlobal, kGlobal, false, false);
  expect_allowed(kGlobal, kLocal, false, true);
  expect_allowed(kGlobal, kRelaxed, true, true);
  expect_allowed(kLocal, kGlobal, false, true);
  expect_allowed(kLocal, kLocal, false, true);
  expect_allowed(kLocal, kRelaxed, true, true);
  for (const auto of_thread : {kGlobal, kLocal, kRelaxed})
    expect_allowed(kRelaxed, of_thread, true, true);
  hipStreamCaptureMode wrong = static_cast<hipStreamCaptureMode>(3);
  EXPECT_EQ(hipThreadExchangeStreamCaptureMode(&wrong), hipErrorInvalidValue);
}

}  // namespace
