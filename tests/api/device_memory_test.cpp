// SPDX-License-Identifier: Apache-2.0
//
// The device heap, registered buffers, and the host API's answers about their addresses.
// Invariant: the GPU's runtime reads the contents of device memory.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "placed_array.hpp"

namespace meshmem {
namespace {

TEST(DeviceHeap, HintsChooseTheHeap) {
  EXPECT_EQ(shmem_malloc_with_hints(0, SHMEMX_MALLOC_DEVICE), nullptr);
  EXPECT_EQ(shmem_malloc_with_hints(size_t{1} << 50, SHMEMX_MALLOC_DEVICE), nullptr);
  void* on_device =
      shmem_malloc_with_hints(100, SHMEMX_MALLOC_DEVICE | SHMEM_MALLOC_ATOMICS_REMOTE | (1L << 40));
  void* on_host = shmem_malloc_with_hints(100, SHMEMX_MALLOC_HOST);
  hipPointerAttribute_t attributes{};
  ASSERT_EQ(hipPointerGetAttributes(&attributes, on_device), hipSuccess);
  EXPECT_EQ(attributes.devicePointer, on_device);
  static_cast<char*>(on_host)[99] = 1;
  shmem_free(on_device);
  shmem_free(on_host);
}

TEST(DeviceHeap, TheEnvironmentChoosesTheHeapOfTheOtherRoutines) {
  const char* heap = std::getenv("MESHMEM_HEAP");
  const bool by_default = heap && std::string(heap) == "device";
  auto* dirty = static_cast<char*>(shmem_malloc(5000));
  auto* aligned = static_cast<char*>(shmem_align(65536, 100));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(aligned) % 65536, 0u);
  PlacedArray<char> on_device(Place::device, 1), on_host(Place::host, 1);
  const auto distance = [](const char* a, const char* b) { return a < b ? b - a : a - b; };
  // The heaps are further apart than these blocks of one heap.
  for (const char* block : {dirty, aligned}) {
    EXPECT_EQ(distance(block, on_device) < (1 << 20), by_default);
    EXPECT_EQ(distance(block, on_host) < (1 << 20), !by_default);
  }
  expect_success(hipMemset(on_device.data(), 1, 1));
  if (by_default) expect_success(hipMemset(dirty, 0x55, 5000));
  shmem_free(aligned);
  shmem_free(dirty);
  auto* zeros = static_cast<char*>(shmem_calloc(50, 100));
  std::vector<char> got(5000, 1);
  expect_success(hipMemcpy(got.data(), zeros, 5000, hipMemcpyDefault));
  expect_all("calloc", got.data(), 5000, char{0});
  shmem_free(zeros);
}

TEST(DeviceHeap, GivesTheAlignmentThatIsAskedFor) {
  const auto modulo = [](const void* block, size_t alignment) {
    return reinterpret_cast<uintptr_t>(block) % alignment;
  };
  std::vector<void*> blocks;
  for (size_t alignment = 1; alignment <= size_t{2} << 20; alignment *= 2) {
    for (const size_t bytes : {1, 300}) {
      blocks.push_back(shmemx_align_with_hints(alignment, bytes, SHMEMX_MALLOC_DEVICE));
      ASSERT_NE(blocks.back(), nullptr) << alignment;
      EXPECT_EQ(modulo(blocks.back(), std::max(alignment, size_t{256})), 0u) << alignment;
    }
    blocks.push_back(shmem_malloc_with_hints(1, SHMEMX_MALLOC_DEVICE));
    EXPECT_EQ(modulo(blocks.back(), 256), 0u);
  }
  for (void* block : blocks) shmem_free(block);
  EXPECT_EQ(shmemx_align_with_hints(96, 100, SHMEMX_MALLOC_DEVICE), nullptr);
  EXPECT_EQ(shmemx_align_with_hints(0, 100, SHMEMX_MALLOC_DEVICE), nullptr);
}

TEST(DeviceHeap, AlignsLikeThatOfTheHostWhereDevicesAreProcessors) {
  const char* heap = std::getenv("MESHMEM_HEAP");
  hipDeviceProp_t properties{};
  expect_success(hipGetDeviceProperties(&properties, 0));
  if (!heap || std::string(heap) != "device" || std::string(properties.gcnArchName) != "cpu")
    GTEST_SKIP() << "shmem_align gives memory of the host, or of a GPU";
  constexpr size_t kAlignment = size_t{64} << 20;
  void* block = shmem_align(kAlignment, 100);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % kAlignment, 0u);
  shmem_free(block);
}

TEST(DeviceHeap, ReallocKeepsWhatFits) {
  auto* block = static_cast<long*>(shmem_malloc_with_hints(8 * 100, SHMEMX_MALLOC_DEVICE));
  void* behind = shmem_malloc_with_hints(64, SHMEMX_MALLOC_DEVICE);  // so that it must move
  const std::vector<long> values = samples<long>(100, my_pe());
  expect_success(hipMemcpy(block, values.data(), 800, hipMemcpyDefault));
  block = static_cast<long*>(shmem_realloc(block, 8 * 5000));
  ASSERT_NE(block, nullptr);
  std::vector<long> got(100);
  expect_success(hipMemcpy(got.data(), block, 800, hipMemcpyDefault));
  EXPECT_EQ(got, values);
  shmem_free(behind);
  shmem_free(block);
}

// PEs have the devices in turn.
bool kernels_reach(int pe) {
  if (shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, SHMEM_TEAM_SHARED) < 0) return false;  // far
  int devices = 1, can = 1;
  expect_success(hipGetDeviceCount(&devices));
  const int mine = my_pe() % devices, theirs = pe % devices;
  if (mine != theirs) expect_success(hipDeviceCanAccessPeer(&can, mine, theirs));
  return can;
}

TEST(DeviceHeap, PtrAndAccessibleKnowIt) {
  PlacedArray<long> word(Place::device, 1);
  EXPECT_EQ(shmem_ptr(word, my_pe()), word.data());
  for (int pe = 0; pe < n_pes(); ++pe) {
    EXPECT_EQ(shmem_addr_accessible(word, pe), 1);
    auto* there = static_cast<long*>(shmem_ptr(word, pe));
    ASSERT_EQ(there != nullptr, kernels_reach(pe));
    const long value = my_pe() * 100 + pe;
    if (pe != next_pe()) continue;
    if (there) {
      expect_success(hipMemcpy(there, &value, sizeof value, hipMemcpyDefault));
    } else {
      shmem_long_p(word, value, pe);
    }
  }
  shmem_barrier_all();
  EXPECT_EQ(word.read_first(), previous_pe() * 100 + my_pe());
  EXPECT_EQ(shmem_ptr(word, n_pes()), nullptr);
  shmem_barrier_all();
}

TEST(Buffers, PartsOfOneAllocationAreSymmetricApart) {
  char* memory = nullptr;
  expect_success(hipMalloc(&memory, 1 << 16));
  // At another offset on each PE.
  char* one = memory + 256 * my_pe();
  char* other = memory + 30000;
  EXPECT_EQ(shmemx_buffer_register(one, 1024), 0);
  EXPECT_EQ(shmemx_buffer_register(other, 1000), 0);
  const std::vector<char> values = samples<char>(1000, my_pe());
  shmem_putmem(one + 24, values.data(), 1000, next_pe());
  shmem_barrier_all();
  shmem_putmem(other, one + 24, 1000, next_pe());
  shmem_barrier_all();
  std::vector<char> got(1000);
  expect_success(hipMemcpy(got.data(), other, 1000, hipMemcpyDefault));
  expect_filled("twice put", got.data(), 1000, previous_pe(2));
  if (n_pes() > 1) {  // each a buffer of its own
    EXPECT_NE(shmemx_buffer_unregister(my_pe() == 0 ? one : other), 0);
  }
  EXPECT_EQ(shmemx_buffer_unregister(one), 0);
  EXPECT_NE(shmemx_buffer_unregister(one), 0);
  EXPECT_EQ(shmem_addr_accessible(one, next_pe()), 0);
  EXPECT_EQ(shmemx_buffer_unregister(other), 0);
  expect_success(hipFree(memory));
}

// An address that is a multiple of 16 on the root need not be one elsewhere. Sanitizers report
// pieces of 16 bytes that go there nevertheless, which GPUs refuse.
TEST(Buffers, OfAnotherAlignmentOnEachPeAreBroadcast) {
  constexpr size_t kMost = 48 << 10;
  char* memory = nullptr;
  expect_success(hipMalloc(&memory, kMost + 16));
  char* const mine = memory + 4 * (my_pe() % 4);
  ASSERT_EQ(shmemx_buffer_register(mine, kMost), 0);
  for (const size_t bytes : {size_t{64}, size_t{12000}, kMost}) {
    SCOPED_TRACE(testing::Message() << bytes << " bytes");
    const std::vector<char> values = samples<char>(bytes, my_pe());
    expect_success(hipMemcpy(mine, values.data(), bytes, hipMemcpyDefault));
    shmem_barrier_all();
    EXPECT_EQ(shmem_broadcastmem(SHMEM_TEAM_WORLD, mine, mine, bytes, 0), 0);
    std::vector<char> got(bytes);
    expect_success(hipMemcpy(got.data(), mine, bytes, hipMemcpyDefault));
    expect_filled("broadcast", got.data(), bytes, 0);
    shmem_barrier_all();
  }
  EXPECT_EQ(shmemx_buffer_unregister(mine), 0);
  expect_success(hipFree(memory));
}

TEST(Buffers, MemoryThatCannotBeSharedIsRefusedOnAllPes) {
  std::vector<char> host(4096);
  EXPECT_NE(shmemx_buffer_register(host.data(), host.size()), 0);
  void* device = nullptr;
  expect_success(hipMalloc(&device, 4096));
  void* mine = my_pe() == n_pes() - 1 ? static_cast<void*>(host.data()) : device;
  EXPECT_NE(shmemx_buffer_register(mine, 4096), 0) << "one PE's is host memory";
  const size_t length = my_pe() == n_pes() - 1 && n_pes() > 1 ? 64 : 128;
  const bool is_alike = n_pes() == 1;
  EXPECT_EQ(shmemx_buffer_register(device, length) == 0, is_alike) << "different lengths";
  EXPECT_EQ(shmemx_buffer_unregister(device) == 0, is_alike);
  EXPECT_EQ(shmem_addr_accessible(device, 0), 0);
  expect_success(hipFree(device));
  PlacedArray<long> symmetric(Place::device, 8);
  EXPECT_EQ(shmemx_buffer_register(symmetric, 64), 0);
  EXPECT_EQ(shmemx_buffer_unregister(symmetric), 0);
}

}  // namespace
}  // namespace meshmem
