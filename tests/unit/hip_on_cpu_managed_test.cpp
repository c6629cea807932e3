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

template <typename Word>
class HipStreamWords : public testing::Test {
 protected:
  static constexpr bool kIsLong = sizeof(Word) == 8;
  static hipError_t write(hipStream_t stream, void* to, Word value, unsigned flags = 0) {
    if constexpr (kIsLong) return hipStreamWriteValue64(stream, to, value, flags);
    if constexpr (!kIsLong) return hipStreamWriteValue32(stream, to, value, flags);
  }
  static hipError_t wait(hipStream_t stream, void* at, Word value, unsigned condition,
                         Word mask = ~Word{0}) {
    if constexpr (kIsLong) return hipStreamWaitValue64(stream, at, value, condition, mask);
    if constexpr (!kIsLong) return hipStreamWaitValue32(stream, at, value, condition, mask);
  }
  // Whether the wait lasts until the word is `met`, when it has been `unmet` before.
  static void expect_wait(unsigned condition, Word value, Word mask, Word unmet, Word met) {
    const OnDevice<Word> words(2);
    const OwnStream waiting(hipStreamNonBlocking), writing(hipStreamNonBlocking);
    EXPECT_HIP(write(writing, words.get(), unmet));
    EXPECT_HIP(hipStreamSynchronize(writing));
    EXPECT_HIP(wait(waiting, words.get(), value, condition, mask));
    EXPECT_HIP(write(waiting, words.get() + 1, 1));
    EXPECT_EQ(hipStreamQuery(waiting), hipErrorNotReady);
    EXPECT_EQ(words.values()[1], 0u);
    EXPECT_HIP(write(writing, words.get(), met));
    EXPECT_HIP(hipStreamSynchronize(waiting));
    EXPECT_EQ(words.values(), (std::vector<Word>{met, 1}));
  }
};
using WordTypes = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(HipStreamWords, WordTypes);

TYPED_TEST(HipStreamWords, AreAwaited) {
  constexpr TypeParam kAll = ~TypeParam{0}, kTop = kAll - (kAll >> 1);
  this->expect_wait(hipStreamWaitValueGte, kTop, kAll, kTop - 1, kTop + 1);
  this->expect_wait(hipStreamWaitValueEq, 5, 0xff, kTop + 4, kTop + 5);
  this->expect_wait(hipStreamWaitValueAnd, kTop + 1, kTop, 1, kTop);
  this->expect_wait(hipStreamWaitValueNor, 1, kAll, kAll - 1, kAll - 2);
}

TYPED_TEST(HipStreamWords, AreRefusedWhereTheyCannotBe) {
  const OnDevice<TypeParam> words(2);
  auto* const at = reinterpret_cast<char*>(words.get());
  EXPECT_EQ(this->write(nullptr, at + 1, 1), hipErrorInvalidValue);
  EXPECT_EQ(this->wait(nullptr, at + 2, 1, hipStreamWaitValueGte), hipErrorInvalidValue);
  EXPECT_EQ(this->write(nullptr, at + 2 * sizeof(TypeParam), 1), hipErrorInvalidValue);
  TypeParam own = 0;
  EXPECT_EQ(this->write(nullptr, &own, 1), hipErrorInvalidValue);
  EXPECT_EQ(this->write(nullptr, at, 1, 1), hipErrorInvalidValue);
  EXPECT_EQ(this->wait(nullptr, at, 1, 4), hipErrorInvalidValue);
  EXPECT_EQ(this->write(reinterpret_cast<hipStream_t>(2), at, 1), hipErrorInvalidHandle);
}

TYPED_TEST(HipStreamWords, ArePartOfGraphs) {
  const OnDevice<TypeParam> words(1);
  const OwnStream stream;
  ASSERT_HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  EXPECT_HIP(this->write(stream, words.get(), 7));
  EXPECT_HIP(this->wait(stream, words.get(), 7, hipStreamWaitValueEq));
  hipGraph_t graph = nullptr;
  hipGraphExec_t executable = nullptr;
  ASSERT_HIP(hipStreamEndCapture(stream, &graph));
  ASSERT_HIP(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  EXPECT_EQ(words.values()[0], 0u);
  ASSERT_HIP(hipGraphLaunch(executable, stream));
  ASSERT_HIP(hipStreamSynchronize(stream));
  EXPECT_EQ(words.values()[0], 7u);
  EXPECT_HIP(hipGraphExecDestroy(executable));
  EXPECT_HIP(hipGraphDestroy(graph));
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
