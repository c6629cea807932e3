// SPDX-License-Identifier: Apache-2.0
// HIP on CPUs: managed memory, memory in the order of a stream, words that streams write and wait
// for, and priorities.
#include <cstring>

#include "hip_on_cpu.hpp"

namespace {

__managed__ int managed_variable = 3;

__global__ void add(int* to, int value) { *to += value; }
__global__ void add_to_variable(int value) { managed_variable += value; }

TEST(HipManagedMemory, IsOfTheHostAndOfItsDevice) {
  int* memory = nullptr;
  ASSERT_HIP(hipMallocManaged(&memory, 2 * sizeof(int)));
  memory[0] = 5;
  hipLaunchKernelGGL(add, 1, 1, 0, nullptr, memory, 4);
  ASSERT_HIP(hipDeviceSynchronize());
  EXPECT_EQ(memory[0], 9);
  hipPointerAttribute_t about;
  ASSERT_HIP(hipPointerGetAttributes(&about, memory + 1));
  EXPECT_EQ(about.type, hipMemoryTypeManaged);
  EXPECT_EQ(about.isManaged, 1);
  EXPECT_EQ(about.hostPointer, memory + 1);
  EXPECT_EQ(about.devicePointer, memory + 1);
  void* base = nullptr;
  std::size_t size = 0;
  EXPECT_HIP(hipMemGetAddressRange(&base, &size, memory + 1));
  EXPECT_EQ(base, memory);
  EXPECT_EQ(size, 2 * sizeof(int));
  EXPECT_HIP(hipFree(memory));
  EXPECT_EQ(hipFree(memory), hipErrorInvalidValue);
}

TEST(HipManagedMemory, IsCopiedAsEither) {
  int* memory = nullptr;
  ASSERT_HIP(hipMallocManaged(&memory, 2 * sizeof(int), hipMemAttachHost));
  const OnDevice<int> device(3);
  int host[3] = {1, 2, 3};
  for (const hipMemcpyKind kind : {hipMemcpyHostToHost, hipMemcpyHostToDevice, hipMemcpyDefault})
    EXPECT_HIP(hipMemcpy(memory, host, sizeof(int), kind));
  for (const auto kind : {hipMemcpyHostToDevice, hipMemcpyDeviceToDevice})
    EXPECT_HIP(hipMemcpy(device.get(), memory, sizeof(int), kind));
  EXPECT_EQ(hipMemcpy(memory, device.get(), 4, hipMemcpyHostToDevice), hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpy(memory, host, 3 * sizeof(int), hipMemcpyDefault), hipErrorInvalidValue);
  EXPECT_HIP(hipMemset(memory, 0, 2 * sizeof(int)));
  EXPECT_EQ(device.values()[0], 1);
  EXPECT_EQ(memory[0], 0);
  EXPECT_HIP(hipFree(memory));
}

TEST(HipManagedMemory, IsRefusedWithFlagsThatAreNoneAndToOtherProcesses) {
  int* memory = nullptr;
  EXPECT_EQ(hipMallocManaged(&memory, 8, 4), hipErrorInvalidValue);
  EXPECT_EQ(hipMallocManaged(&memory, 0), hipErrorInvalidValue);
  ASSERT_HIP(hipMallocManaged(&memory, 8));
  hipIpcMemHandle_t handle;
  EXPECT_EQ(hipIpcGetMemHandle(&handle, memory), hipErrorInvalidValue);
  EXPECT_EQ(hipHostFree(memory), hipErrorInvalidValue);
  EXPECT_HIP(hipFree(memory));
}

TEST(HipManagedMemory, MayBeAVariable) {
  managed_variable = 3;
  hipLaunchKernelGGL(add_to_variable, 1, 1, 0, nullptr, 4);
  ASSERT_HIP(hipDeviceSynchronize());
  EXPECT_EQ(managed_variable, 7);
}

TEST(HipMemoryOfStreams, GoesInItsTurn) {
  const OwnStream stream(hipStreamNonBlocking);
  const OnDevice<int> sum(1);
  Gate gate;
  gate.close(stream);
  int* memory = nullptr;
  ASSERT_HIP(hipMallocAsync(&memory, sizeof(int), stream));
  ASSERT_HIP(hipMemsetAsync(memory, 0, sizeof(int), stream));
  hipLaunchKernelGGL(add, 1, 1, 0, stream, memory, 6);
  ASSERT_HIP(hipMemcpyAsync(sum.get(), memory, sizeof(int), hipMemcpyDeviceToDevice, stream));
  EXPECT_HIP(hipFreeAsync(memory, stream));
  EXPECT_EQ(hipFreeAsync(memory, stream), hipErrorInvalidValue);
  EXPECT_EQ(hipFree(memory), hipErrorInvalidValue);
  std::memset(memory, 1, sizeof(int));  // it is still there
  gate.open();
  EXPECT_HIP(hipStreamSynchronize(stream));
  EXPECT_EQ(sum.values()[0], 6);
}

TEST(HipMemoryOfStreams, IsOfTheStreamsDevice) {
  ASSERT_HIP(hipSetDevice(2));
  {
    const OwnStream stream;
    ASSERT_HIP(hipSetDevice(0));
    void* memory = nullptr;
    ASSERT_HIP(hipMallocAsync(&memory, 8, stream));
    hipPointerAttribute_t about;
    ASSERT_HIP(hipPointerGetAttributes(&about, memory));
    EXPECT_EQ(about.device, 2);
    EXPECT_HIP(hipFree(memory));  // by the other call
  }
}

TEST(HipMemoryOfStreams, IsRefusedWhereItCannotBe) {
  void* memory = nullptr;
  EXPECT_EQ(hipMallocAsync(&memory, 8, reinterpret_cast<hipStream_t>(2)), hipErrorInvalidHandle);
  const OnDevice<int> own(1);
  EXPECT_EQ(hipFreeAsync(own.get(), reinterpret_cast<hipStream_t>(2)), hipErrorInvalidHandle);
  EXPECT_EQ(hipFreeAsync(&memory, nullptr), hipErrorInvalidValue);
  for (const bool frees : {false, true}) {
    const OwnStream stream;
    ASSERT_HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
    EXPECT_EQ(frees ? hipFreeAsync(own.get(), stream) : hipMallocAsync(&memory, 8, stream),
              hipErrorStreamCaptureUnsupported);
    hipGraph_t graph = nullptr;
    EXPECT_EQ(hipStreamEndCapture(stream, &graph), hipErrorStreamCaptureInvalidated);
  }
}

TEST(HipStreams, HaveOnePriority) {
  int least = -1, greatest = -1, own = -1;
  EXPECT_HIP(hipDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT_EQ(least, 0);
  EXPECT_EQ(greatest, 0);
  EXPECT_HIP(hipDeviceGetStreamPriorityRange(nullptr, nullptr));
  hipStream_t stream = nullptr;
  EXPECT_EQ(hipStreamCreateWithPriority(&stream, 2, 0), hipErrorInvalidValue);
  ASSERT_HIP(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, -5));
  EXPECT_HIP(hipStreamGetPriority(stream, &own));
  EXPECT_EQ(own, 0);
  EXPECT_EQ(hipStreamGetPriority(stream, nullptr), hipErrorInvalidValue);
  EXPECT_EQ(hipStreamGetPriority(reinterpret_cast<hipStream_t>(2), &own), hipErrorInvalidHandle);
  EXPECT_HIP(hipStreamDestroy(stream));
}

}  // namespace
