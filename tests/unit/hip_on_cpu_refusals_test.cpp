// SPDX-License-Identifier: Apache-2.0
// HIP on CPUs: what it does not do, it refuses: flags, shapes and values that it does not honour,
// and calls of the host's functions in kernels. Invariant: every function that the header declares
// is called in a kernel here.
#include <fstream>
#include <functional>
#include <map>
#include <string>

#include "hip_on_cpu.hpp"

namespace {

__global__ void do_nothing() {}

TEST(HipRefusals, AreOfFlagsOfDeviceMemory) {
  void* memory = nullptr;
  for (const unsigned kept :
       {hipDeviceMallocDefault, hipDeviceMallocFinegrained, hipDeviceMallocUncached}) {
    EXPECT_HIP(hipExtMallocWithFlags(&memory, 8, kept)) << kept;
    EXPECT_HIP(hipFree(memory));
  }
  EXPECT_EQ(hipExtMallocWithFlags(&memory, 8, 0x2), hipErrorNotSupported);  // of signals
  EXPECT_EQ(hipExtMallocWithFlags(&memory, 8, 0x4), hipErrorNotSupported);  // contiguous
  EXPECT_EQ(hipExtMallocWithFlags(&memory, 8, 0x8), hipErrorInvalidValue);
}

TEST(HipRefusals, AreOfFlagsOfGraphs) {
  const OwnStream stream;
  hipGraph_t graph = nullptr;
  ASSERT_HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  ASSERT_HIP(hipStreamEndCapture(stream, &graph));
  hipGraphExec_t executable = nullptr;
  EXPECT_EQ(hipGraphInstantiateWithFlags(&executable, graph, 1), hipErrorNotSupported);
  EXPECT_EQ(hipGraphInstantiateWithFlags(&executable, graph, 16), hipErrorInvalidValue);
  EXPECT_HIP(hipGraphInstantiateWithFlags(&executable, graph, 0));
  EXPECT_HIP(hipGraphExecDestroy(executable));
  EXPECT_HIP(hipGraphDestroy(graph));
}

TEST(HipRefusals, AreOfFlagsOfPinnedMemory) {
  void* memory = nullptr;
  for (const unsigned kept : {0x0u, 0x7u, 0x40000000u, 0x80000001u}) {
    EXPECT_HIP(hipHostMalloc(&memory, 8, kept)) << kept;
    EXPECT_HIP(hipHostFree(memory));
  }
  EXPECT_EQ(hipHostMalloc(&memory, 8, hipHostMallocCoherent | hipHostMallocNonCoherent),
            hipErrorInvalidValue);
  EXPECT_EQ(hipHostMalloc(&memory, 8, 0x10000000), hipErrorNotSupported);  // uncached
  EXPECT_EQ(hipHostMalloc(&memory, 8, 0x20000001), hipErrorNotSupported);  // placed by the user
  EXPECT_EQ(hipHostMalloc(&memory, 8, 0x8), hipErrorInvalidValue);
}

TEST(HipRefusals, AreOfFlagsAndRangesOfRegisteredMemory) {
  std::vector<char> own(100);
  EXPECT_EQ(hipHostRegister(own.data(), 100, 0x4),
            hipErrorNotSupported);  // of a device's registers
  EXPECT_EQ(hipHostRegister(own.data(), 100, 0x9), hipErrorNotSupported);  // coarse-grained
  EXPECT_EQ(hipHostRegister(own.data(), 100, 0x10), hipErrorInvalidValue);
  EXPECT_EQ(hipHostRegister(own.data(), SIZE_MAX, 0), hipErrorInvalidValue);
  EXPECT_EQ(hipHostRegister(own.data(), 0, 0), hipErrorInvalidValue);
  void* reached = nullptr;
  EXPECT_EQ(hipHostGetDevicePointer(&reached, own.data(), 0), hipErrorInvalidValue);
  EXPECT_HIP(hipHostRegister(own.data(), 100, hipHostRegisterPortable | hipHostRegisterMapped));
  EXPECT_EQ(hipHostGetDevicePointer(&reached, own.data(), 1), hipErrorInvalidValue);
  EXPECT_HIP(hipHostUnregister(own.data()));
}

TEST(HipRefusals, AreOfFlagsOfStreamsAndEvents) {
  hipStream_t stream = nullptr;
  EXPECT_EQ(hipStreamCreateWithFlags(&stream, 2), hipErrorInvalidValue);
  hipEvent_t event = nullptr;
  for (const unsigned kept : {0u, 1u, 2u, 3u}) {
    EXPECT_HIP(hipEventCreateWithFlags(&event, kept));
    EXPECT_EQ(hipStreamWaitEvent(nullptr, event, 1), hipErrorInvalidValue);
    EXPECT_HIP(hipEventDestroy(event));
  }
  EXPECT_EQ(hipEventCreateWithFlags(&event, hipEventInterprocess | hipEventDisableTiming),
            hipErrorNotSupported);
  EXPECT_EQ(hipEventCreateWithFlags(&event, 0x20000000), hipErrorNotSupported);  // without a fence
  EXPECT_EQ(hipEventCreateWithFlags(&event, 0x8), hipErrorInvalidValue);
  EXPECT_EQ(hipStreamBeginCapture(OwnStream(), static_cast<hipStreamCaptureMode>(3)),
            hipErrorInvalidValue);
  EXPECT_EQ(hipStreamSynchronize(reinterpret_cast<hipStream_t>(2)), hipErrorInvalidHandle);
}

TEST(HipRefusals, AreOfFlagsOfDevices) {
  EXPECT_EQ(hipInit(1), hipErrorInvalidValue);
  EXPECT_EQ(hipDeviceEnablePeerAccess(2, 1), hipErrorInvalidValue);
  int value = 0;
  EXPECT_EQ(hipDeviceGetAttribute(&value, static_cast<hipDeviceAttribute_t>(9999), 0),
            hipErrorInvalidValue);
}

TEST(HipRefusals, AreOfKindsOfCopies) {
  const OnDevice<int> memory(1);
  int value = 0;
  for (const int kind : {-1, 5, 1024}) {
    const auto wrong = static_cast<hipMemcpyKind>(kind);
    EXPECT_EQ(hipMemcpy(&value, memory.get(), 4, wrong), hipErrorInvalidMemcpyDirection);
    EXPECT_EQ(hipMemcpyAsync(&value, memory.get(), 4, wrong, nullptr),
              hipErrorInvalidMemcpyDirection);
    EXPECT_EQ(hipMemcpy2D(&value, 4, memory.get(), 4, 4, 1, wrong), hipErrorInvalidMemcpyDirection);
  }
}

hipError_t launched(dim3 grid, dim3 block, std::size_t shared) {
  hipLaunchKernelGGL(do_nothing, grid, block, shared, nullptr);
  return hipGetLastError();
}

// Each limit is kept to, and is the one that the properties tell.
TEST(HipRefusals, AreOfLaunchesBeyondTheLimits) {
  hipDeviceProp_t p;
  ASSERT_HIP(hipGetDeviceProperties(&p, 0));
  const auto at = [](const int(&most)[3], int axis, unsigned more) {
    const auto along = [&](int i) {
      return i == axis ? static_cast<unsigned>(most[i]) + more : 1u;
    };
    return dim3(along(0), along(1), along(2));
  };
  for (int axis = 0; axis < 3; ++axis) {
    EXPECT_EQ(launched(at(p.maxGridSize, axis, 1), 1, 0), hipErrorInvalidConfiguration) << axis;
    EXPECT_EQ(launched(1, at(p.maxThreadsDim, axis, 1), 0), hipErrorInvalidConfiguration) << axis;
    EXPECT_HIP(launched(1, at(p.maxThreadsDim, axis, 0), 0)) << axis;
  }
  EXPECT_HIP(launched(1, 1, p.sharedMemPerBlock));
  EXPECT_EQ(launched(1, 1, p.sharedMemPerBlock + 1), hipErrorInvalidConfiguration);
  EXPECT_EQ(launched(1, dim3(32, 33), 0), hipErrorInvalidConfiguration);
  EXPECT_EQ(launched(dim3(1, 0), 1, 0), hipErrorInvalidConfiguration);
  EXPECT_EQ(launched(1 << 23, 512, 0), hipErrorInvalidConfiguration);  // 2^32 threads
  EXPECT_HIP(hipDeviceSynchronize());
}

TEST(HipRefusals, AreOfKernelsThatAreNone) {
  void (*const none)() = nullptr;
  hipLaunchKernelGGL(none, 1, 1, 0, nullptr);
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidDeviceFunction);
  EXPECT_EQ(hipLaunchKernel(none, 1, 1, nullptr, 0, nullptr), hipErrorInvalidDeviceFunction);
  EXPECT_EQ(hipFuncSetAttribute(none, hipFuncAttributeMaxDynamicSharedMemorySize, 1),
            hipErrorInvalidDeviceFunction);
}

TEST(HipRefusals, AreOfAttributesOfKernels) {
  const auto set = [](int attribute, int value) {
    return hipFuncSetAttribute(do_nothing, static_cast<hipFuncAttribute>(attribute), value);
  };
  EXPECT_HIP(set(hipFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
  EXPECT_EQ(set(hipFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024 + 1), hipErrorInvalidValue);
  EXPECT_EQ(set(hipFuncAttributeMaxDynamicSharedMemorySize, -1), hipErrorInvalidValue);
  EXPECT_HIP(set(hipFuncAttributePreferredSharedMemoryCarveout, -1));
  EXPECT_HIP(set(hipFuncAttributePreferredSharedMemoryCarveout, 100));
  EXPECT_EQ(set(hipFuncAttributePreferredSharedMemoryCarveout, 101), hipErrorInvalidValue);
  EXPECT_EQ(set(10, 0), hipErrorInvalidValue);
  int blocks = -1;
  EXPECT_HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, do_nothing, 1025, 0));
  EXPECT_EQ(blocks, 0);
  EXPECT_EQ(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, do_nothing, 0, 0),
            hipErrorInvalidValue);
}

TEST(HipRefusals, AreOfGraphsThatAreNone) {
  hipGraphExec_t executable = nullptr;
  EXPECT_EQ(hipGraphInstantiate(&executable, nullptr, nullptr, nullptr, 0), hipErrorInvalidValue);
  EXPECT_EQ(hipGraphLaunch(nullptr, nullptr), hipErrorInvalidValue);
}

// ---- In kernels

using Calls = std::map<std::string, void (*)()>;

// With arguments of which the host's call would make nothing worse than an error.
Calls calls_of_the_host() {
  static void* pointer = nullptr;
  static int number = 0;
  static std::size_t size = 0;
  static float milliseconds = 0;
  static std::uint32_t link = 0;
  static char text[16];
  static hipDeviceProp_t properties;
  static hipPointerAttribute_t attributes;
  static hipIpcMemHandle_t handle;
  static hipStream_t stream = nullptr;
  static hipEvent_t event = nullptr;
  static hipGraph_t graph = nullptr;
  static hipGraphExec_t executable = nullptr;
  static hipStreamCaptureStatus status;
  static hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
#define CALL(name, ...)                                 \
  {                                                     \
#name, [] { static_cast<void>(name(__VA_ARGS__)); } \
  }
  return {
      CALL(hipGetErrorName, hipSuccess),
      CALL(hipGetErrorString, hipSuccess),
      CALL(hipGetLastError),
      CALL(hipPeekAtLastError),
      CALL(hipInit, 0),
      CALL(hipGetDeviceCount, &number),
      CALL(hipSetDevice, 0),
      CALL(hipGetDevice, &number),
      CALL(hipGetDeviceProperties, &properties, 0),
      CALL(hipDeviceGetAttribute, &number, hipDeviceAttributeWarpSize, 0),
      CALL(hipDeviceGetPCIBusId, text, 16, 0),
      CALL(hipDeviceSynchronize),
      CALL(hipDeviceCanAccessPeer, &number, 0, 1),
      CALL(hipDeviceEnablePeerAccess, 1, 0),
      CALL(hipDeviceDisablePeerAccess, 1),
      CALL(hipExtGetLinkTypeAndHopCount, 0, 1, &link, &link),
      CALL(hipMemGetInfo, &size, &size),
      CALL(hipDriverGetVersion, &number),
      CALL(hipRuntimeGetVersion, &number),
      CALL(hipMalloc, &pointer, 8),
      CALL(hipExtMallocWithFlags, &pointer, 8, 0),
      CALL(hipMallocManaged, &pointer, 8),
      CALL(hipFree, nullptr),
      CALL(hipMallocAsync, &pointer, 8, stream),
      CALL(hipFreeAsync, text, stream),
      CALL(hipHostMalloc, &pointer, 8),
      CALL(hipHostFree, nullptr),
      CALL(hipHostRegister, text, 16, 0),
      CALL(hipHostUnregister, text),
      CALL(hipHostGetDevicePointer, &pointer, text, 0),
      CALL(hipMemGetAddressRange, &pointer, &size, text),
      CALL(hipPointerGetAttributes, &attributes, text),
      CALL(hipMemcpy, text, text, 0, hipMemcpyDefault),
      CALL(hipMemcpyAsync, text, text, 0, hipMemcpyDefault),
      CALL(hipMemcpyPeer, text, 0, text, 0, 0),
      CALL(hipMemcpyPeerAsync, text, 0, text, 0, 0),
      CALL(hipMemcpy2D, text, 1, text, 1, 0, 0, hipMemcpyDefault),
      CALL(hipMemcpy2DAsync, text, 1, text, 1, 0, 0, hipMemcpyDefault),
      CALL(hipMemset, text, 0, 0),
      CALL(hipMemsetAsync, text, 0, 0),
      CALL(hipIpcGetMemHandle, &handle, text),
      CALL(hipIpcOpenMemHandle, &pointer, handle, hipIpcMemLazyEnablePeerAccess),
      CALL(hipIpcCloseMemHandle, text),
      CALL(hipStreamCreate, &stream),
      CALL(hipStreamCreateWithFlags, &stream, 0),
      CALL(hipDeviceGetStreamPriorityRange, &number, &number),
      CALL(hipStreamCreateWithPriority, &stream, 0, 0),
      CALL(hipStreamGetPriority, stream, &number),
      CALL(hipStreamGetDevice, stream, &number),
      CALL(hipStreamDestroy, stream),
      CALL(hipStreamSynchronize, nullptr),
      CALL(hipStreamQuery, nullptr),
      CALL(hipStreamWaitEvent, nullptr, event),
      CALL(hipLaunchHostFunc, nullptr, nullptr, nullptr),
      CALL(hipEventCreate, &event),
      CALL(hipEventCreateWithFlags, &event, 0),
      CALL(hipEventRecord, event),
      CALL(hipEventSynchronize, event),
      CALL(hipEventQuery, event),
      CALL(hipEventElapsedTime, &milliseconds, event, event),
      CALL(hipEventDestroy, event),
      CALL(hipStreamBeginCapture, stream, hipStreamCaptureModeRelaxed),
      CALL(hipThreadExchangeStreamCaptureMode, &mode),
      CALL(hipStreamEndCapture, stream, &graph),
      CALL(hipStreamIsCapturing, stream, &status),
      CALL(hipGraphInstantiateWithFlags, &executable, graph, 0),
      CALL(hipGraphInstantiate, &executable, graph, nullptr, nullptr, 0),
      CALL(hipGraphLaunch, executable, nullptr),
      CALL(hipGraphDestroy, graph),
      CALL(hipGraphExecDestroy, executable),
      CALL(hipFuncSetAttribute, do_nothing, hipFuncAttributeMaxDynamicSharedMemorySize, 8),
      CALL(hipMemcpyToSymbol, number, &size, sizeof(number)),
      CALL(hipMemcpyFromSymbol, &size, number, sizeof(number)),
      CALL(hipLaunchKernel, do_nothing, 1, 1, nullptr, 0, nullptr),
      CALL(hipOccupancyMaxActiveBlocksPerMultiprocessor, &number, do_nothing, 64, 0),
  };
#undef CALL
}

// The function that a line of the header declares, or nothing.
std::string declared_in(const std::string& line) {
  for (const std::string result : {"hipError_t ", "const char* "}) {
    if (line.compare(0, result.size() + 3, result + "hip") != 0) continue;
    const std::size_t end = line.find('(');
    if (end != std::string::npos) return line.substr(result.size(), end - result.size());
  }
  return "";
}

TEST(HipRefusals, AreTriedOfEveryFunctionOfTheHeader) {
  std::ifstream file(MESHMEM_HIP_ON_CPU_HEADER);
  const Calls calls = calls_of_the_host();
  std::size_t found = 0;
  for (std::string line; std::getline(file, line);) {
    const std::string name = declared_in(line);
    if (name.empty()) continue;
    ++found;
    EXPECT_TRUE(calls.contains(name)) << name;
  }
  EXPECT_GT(found, 50u);
}

__global__ void call(void (*routine)()) { routine(); }

class HipRefusalsDeathTest : public testing::TestWithParam<Calls::value_type> {};

TEST_P(HipRefusalsDeathTest, EndKernelsThatCallTheHost) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto& [name, routine] = GetParam();
  EXPECT_DEATH(
      {
        hipLaunchKernelGGL(call, 1, 1, 0, nullptr, routine);
        static_cast<void>(hipDeviceSynchronize());
      },
      "^meshmem: kernel call ended by: a call of " + name +
          ", which is for the host alone; block \\(0, 0, 0\\), thread \\(0, 0, 0\\)\n$");
}

INSTANTIATE_TEST_SUITE_P(Of, HipRefusalsDeathTest, testing::ValuesIn(calls_of_the_host()),
                         [](const auto& info) { return info.param.first; });

TEST(HipRefusalsDeathTest, AreOfLaunchesInKernels) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        void (*const launch)() = [] { hipLaunchKernelGGL(do_nothing, 1, 1, 0, nullptr); };
        hipLaunchKernelGGL(call, 1, 1, 0, nullptr, launch);
        static_cast<void>(hipDeviceSynchronize());
      },
      "a call of hipLaunchKernel, which is for the host alone");
}

}  // namespace
