// SPDX-License-Identifier: Apache-2.0
// HIP on CPUs: errors, memory, copies, and memory opened by other processes.
#include "hip_on_cpu.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace {

TEST(HipErrors, HaveNamesAndTexts) {
  EXPECT_STREQ(hipGetErrorName(hipErrorOutOfMemory), "hipErrorOutOfMemory");
  EXPECT_STREQ(hipGetErrorString(hipErrorOutOfMemory), "out of memory");
  EXPECT_STREQ(hipGetErrorName(static_cast<hipError_t>(12345)), "hipErrorUnknown");
}

TEST(HipMemory, IsKnownByItsAddresses) {
  ASSERT_HIP(hipSetDevice(2));
  char* memory = nullptr;
  ASSERT_HIP(hipMalloc(&memory, 1000));
  ASSERT_HIP(hipSetDevice(0));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 256, 0u);
  void* base = nullptr;
  std::size_t size = 0;
  EXPECT_HIP(hipMemGetAddressRange(&base, &size, memory + 999));
  EXPECT_EQ(base, memory);
  EXPECT_EQ(size, 1000u);
  hipPointerAttribute_t attributes;
  EXPECT_HIP(hipPointerGetAttributes(&attributes, memory + 999));
  EXPECT_EQ(attributes.type, hipMemoryTypeDevice);
  EXPECT_EQ(attributes.memoryType, hipMemoryTypeDevice);
  EXPECT_EQ(attributes.device, 2);
  EXPECT_EQ(hipPointerGetAttributes(&attributes, &size), hipErrorInvalidValue);
  EXPECT_EQ(hipFree(memory + 8), hipErrorInvalidValue);
  EXPECT_HIP(hipFree(memory));
  EXPECT_EQ(hipFree(memory), hipErrorInvalidValue);
  EXPECT_HIP(hipFree(nullptr));
  void* nothing = &size;
  EXPECT_HIP(hipMalloc(&nothing, 0));
  EXPECT_EQ(nothing, nullptr);
}

TEST(HipMemory, IsReusedWhenItWasFreed) {
  for (int round = 0; round < 200; ++round) {
    void *first = nullptr, *second = nullptr;
    ASSERT_HIP(hipMalloc(&first, 64 << 20));
    ASSERT_HIP(hipExtMallocWithFlags(&second, 100, hipDeviceMallocUncached));
    ASSERT_HIP(hipMemset(first, round, 4096));
    ASSERT_HIP(hipFree(first));
    ASSERT_HIP(hipFree(second));
  }
}

TEST(HipMemory, IsRefusedWhenTheMachineHasNotSoMuch) {
  void* memory = nullptr;
  EXPECT_EQ(hipMalloc(&memory, std::size_t{1} << 50), hipErrorOutOfMemory);
  EXPECT_EQ(hipMalloc(&memory, SIZE_MAX / 2), hipErrorOutOfMemory);
  for (const std::size_t size : {SIZE_MAX, SIZE_MAX - 50000}) {  // no number of pages
    EXPECT_EQ(hipMalloc(&memory, size), hipErrorOutOfMemory) << size;
    EXPECT_EQ(hipHostMalloc(&memory, size), hipErrorOutOfMemory) << size;
  }
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(hipExtMallocWithFlags(&memory, 8, 99), hipErrorInvalidValue);
}

TEST(HipMemory, OfTheHostCanBePinned) {
  int* pinned = nullptr;
  ASSERT_HIP(hipHostMalloc(&pinned, 400));
  hipPointerAttribute_t attributes;
  EXPECT_HIP(hipPointerGetAttributes(&attributes, pinned));
  EXPECT_EQ(attributes.type, hipMemoryTypeHost);
  EXPECT_EQ(hipFree(pinned), hipErrorInvalidValue);
  EXPECT_HIP(hipHostFree(pinned));

  std::vector<char> own(1000);
  void* reached = nullptr;
  EXPECT_HIP(hipHostRegister(own.data(), 500, hipHostRegisterDefault));
  EXPECT_EQ(hipHostRegister(own.data() + 100, 800, hipHostRegisterDefault),
            hipErrorHostMemoryAlreadyRegistered);
  EXPECT_HIP(hipHostGetDevicePointer(&reached, own.data() + 499, 0));
  EXPECT_EQ(reached, own.data() + 499);
  EXPECT_EQ(hipHostGetDevicePointer(&reached, own.data() + 500, 0), hipErrorInvalidValue);
  EXPECT_HIP(hipHostUnregister(own.data()));
  EXPECT_EQ(hipHostUnregister(own.data()), hipErrorHostMemoryNotRegistered);
}

TEST(HipCopies, GoWhereTheirKindSaysOrNowhere) {
  const OnDevice<int> device(8), other(8);
  std::vector<int> host{1, 2, 3, 4, 5, 6, 7, 8}, back(8);
  EXPECT_HIP(hipMemcpy(device.get(), host.data(), 32, hipMemcpyHostToDevice));
  EXPECT_HIP(hipMemcpy(other.get(), device.get(), 32, hipMemcpyDeviceToDevice));
  EXPECT_HIP(hipMemcpy(back.data(), other.get(), 32, hipMemcpyDefault));
  EXPECT_EQ(back, host);
  EXPECT_EQ(hipMemcpy(back.data(), host.data(), 32, hipMemcpyHostToDevice), hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpy(device.get(), host.data(), 32, hipMemcpyDeviceToHost), hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpy(device.get(), other.get(), 32, hipMemcpyHostToDevice), hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpy(device.get(), other.get(), 33, hipMemcpyDeviceToDevice),
            hipErrorInvalidValue);
  EXPECT_EQ(hipMemset(device.get() + 7, 0, 5), hipErrorInvalidValue);
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidValue);
}

TEST(HipCopies, GoBetweenDevices) {
  const OnDevice<int> here(4);
  ASSERT_HIP(hipSetDevice(1));
  const OnDevice<int> there(4);
  ASSERT_HIP(hipSetDevice(0));
  ASSERT_HIP(hipMemset(here.get(), 0x11, 16));
  EXPECT_HIP(hipMemcpyPeer(there.get(), 1, here.get(), 0, 16));
  EXPECT_EQ(there.values(), std::vector<int>(4, 0x11111111));
  EXPECT_EQ(hipMemcpyPeer(there.get(), 0, here.get(), 1, 16), hipErrorInvalidValue);
}

TEST(HipCopies, OfTwoDimensionsKeepBetweenTheRowsWhatWasThere) {
  const OnDevice<char> device(3 * 10);
  const char source[] = "abcdefghijkl";
  EXPECT_HIP(hipMemcpy2D(device.get(), 10, source, 4, 4, 3, hipMemcpyHostToDevice));
  EXPECT_EQ(device.values()[10], 'e');
  EXPECT_EQ(device.values()[14], '\0');
  EXPECT_EQ(device.values()[23], 'l');
  EXPECT_EQ(hipMemcpy2D(device.get(), 10, source, 3, 4, 3, hipMemcpyHostToDevice),
            hipErrorInvalidPitchValue);
}

// Runs in a child: opens the handle, and says in its exit status what it saw.
int open_and_add(const hipIpcMemHandle_t& handle, std::uint64_t expected) {
  std::uint64_t *memory = nullptr, *again = nullptr;
  if (hipIpcOpenMemHandle(reinterpret_cast<void**>(&memory), handle,
                          hipIpcMemLazyEnablePeerAccess) != hipSuccess) {
    return 1;
  }
  if (hipIpcOpenMemHandle(reinterpret_cast<void**>(&again), handle,
                          hipIpcMemLazyEnablePeerAccess) != hipSuccess) {
    return 2;
  }
  if (hipIpcCloseMemHandle(again) != hipSuccess) return 3;
  if (*memory != expected) return 4;
  hipPointerAttribute_t attributes;
  if (hipPointerGetAttributes(&attributes, memory) != hipSuccess || attributes.device != 1)
    return 5;
  if (hipFree(memory) != hipErrorInvalidValue) return 6;
  ++*memory;
  if (hipIpcCloseMemHandle(memory) != hipSuccess) return 7;
  return hipIpcCloseMemHandle(memory) == hipErrorInvalidValue ? 0 : 8;
}

template <typename Function>
int in_child(Function function) {
  const pid_t child = fork();
  if (child == 0) _exit(function());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(HipIpc, MapsTheSameMemoryIntoAnotherProcess) {
  ASSERT_HIP(hipSetDevice(1));
  const OnDevice<std::uint64_t> before(3);
  const OnDevice<std::uint64_t> memory(100000);
  ASSERT_HIP(hipSetDevice(0));
  const std::uint64_t value = 0x8000000012345678;
  ASSERT_HIP(hipMemcpy(memory.get(), &value, 8, hipMemcpyHostToDevice));
  hipIpcMemHandle_t handle;
  ASSERT_HIP(hipIpcGetMemHandle(&handle, memory.get()));
  EXPECT_EQ(hipIpcGetMemHandle(&handle, memory.get() + 1), hipErrorInvalidValue);
  EXPECT_EQ(in_child([&] { return open_and_add(handle, value); }), 0);
  EXPECT_EQ(memory.values()[0], value + 1);
}

TEST(HipMemory, ThatIsAdoptedIsOfItsDeviceForGood) {
  alignas(4096) static char pages[2 * 4096];
  ASSERT_HIP(hip_on_cpu::adopt_device_memory(pages, 4096, 2));
  ASSERT_HIP(hip_on_cpu::adopt_device_memory(pages + 4096, 4096, 3));
  hipPointerAttribute_t attributes;
  ASSERT_HIP(hipPointerGetAttributes(&attributes, pages + 4095));
  EXPECT_EQ(attributes.type, hipMemoryTypeDevice);
  EXPECT_EQ(attributes.device, 2);
  ASSERT_HIP(hipPointerGetAttributes(&attributes, pages + 4096));
  EXPECT_EQ(attributes.device, 3);

  EXPECT_EQ(hip_on_cpu::adopt_device_memory(pages + 100, 8, 0), hipErrorInvalidValue);
  EXPECT_EQ(hip_on_cpu::adopt_device_memory(pages, 8, 4), hipErrorInvalidDevice);
  EXPECT_EQ(hipFree(pages), hipErrorInvalidValue);
  EXPECT_EQ(hipIpcCloseMemHandle(pages), hipErrorInvalidValue);
  EXPECT_HIP(hipMemset(pages, 1, 4096));
  EXPECT_EQ(hipMemset(pages, 1, 4097), hipErrorInvalidValue);  // the next is another's
}

TEST(HipIpc, RefusesOwnStaleAndBrokenHandles) {
  hipIpcMemHandle_t handle, broken{};
  void *memory = nullptr, *opened = nullptr;
  ASSERT_HIP(hipMalloc(&memory, 5000));
  ASSERT_HIP(hipIpcGetMemHandle(&handle, memory));
  EXPECT_EQ(hipIpcOpenMemHandle(&opened, handle, hipIpcMemLazyEnablePeerAccess),
            hipErrorInvalidContext);
  EXPECT_EQ(hipIpcOpenMemHandle(&opened, broken, hipIpcMemLazyEnablePeerAccess),
            hipErrorInvalidValue);
  EXPECT_EQ(hipIpcOpenMemHandle(&opened, handle, 0), hipErrorInvalidValue);
  ASSERT_HIP(hipFree(memory));
  ASSERT_HIP(hipMalloc(&memory, 5000));  // in the same place of the file, most likely
  const auto open_stale = [&] {
    return static_cast<int>(hipIpcOpenMemHandle(&opened, handle, hipIpcMemLazyEnablePeerAccess)) %
           128;
  };
  EXPECT_EQ(in_child(open_stale), hipErrorInvalidResourceHandle % 128);
  ASSERT_HIP(hipFree(memory));
}

// A process of another user offers memory of its own, and asks for ours.
TEST(HipIpc, RefusesMemoryOfAnotherUserAndGivesItNone) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  void *memory = nullptr, *opened = nullptr;
  hipIpcMemHandle_t ours, theirs;
  ASSERT_HIP(hipMalloc(&memory, 5000));
  ASSERT_HIP(hipIpcGetMemHandle(&ours, memory));
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  const pid_t stranger = fork();
  if (stranger == 0) {
    if (setgid(65532) != 0 || setuid(65532) != 0) _exit(1);
    // A child of root's process is as closed as that was, until it says otherwise.
    prctl(PR_SET_DUMPABLE, 1);
    if (hipIpcOpenMemHandle(&opened, ours, hipIpcMemLazyEnablePeerAccess) == hipSuccess) _exit(2);
    if (hipMalloc(&memory, 5000) != hipSuccess) _exit(3);
    if (hipIpcGetMemHandle(&theirs, memory) != hipSuccess) _exit(4);
    (void)!write(told[1], &theirs, sizeof theirs);
    pause();
  }
  close(told[1]);
  ASSERT_EQ(read(told[0], &theirs, sizeof theirs), static_cast<ssize_t>(sizeof theirs));
  EXPECT_EQ(hipIpcOpenMemHandle(&opened, theirs, hipIpcMemLazyEnablePeerAccess),
            hipErrorInvalidResourceHandle);
  kill(stranger, SIGKILL);
  waitpid(stranger, nullptr, 0);
  close(told[0]);
  ASSERT_HIP(hipFree(memory));
}

TEST(HipIpc, SaysThatItNeedsProc) {
  const int status = in_child([] {
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", "/proc", "tmpfs", 0, nullptr) != 0) {
      return 77;
    }
    void* memory = nullptr;
    hipIpcMemHandle_t handle;
    if (hipMalloc(&memory, std::size_t{32} << 20) != hipSuccess) return 1;  // asks what is free
    return hipIpcGetMemHandle(&handle, memory) == hipErrorNotSupported ? 0 : 2;
  });
  if (status == 77) GTEST_SKIP() << "namespaces of mounts are closed here";
  EXPECT_EQ(status, 0);
}

TEST(HipIpc, OutlivesTheProcessThatMadeTheMemory) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    int* memory = nullptr;
    hipIpcMemHandle_t handle;
    if (hipMalloc(&memory, 4096) != hipSuccess) _exit(1);
    *memory = 77;
    if (hipIpcGetMemHandle(&handle, memory) != hipSuccess) _exit(1);
    if (write(ends[1], &handle, sizeof(handle)) < 0) _exit(1);
    for (;;) pause();
  }
  hipIpcMemHandle_t handle;
  int *opened = nullptr, value = 0;
  ASSERT_EQ(read(ends[0], &handle, sizeof(handle)), static_cast<ssize_t>(sizeof(handle)));
  EXPECT_HIP(hipIpcOpenMemHandle(reinterpret_cast<void**>(&opened), handle,
                                 hipIpcMemLazyEnablePeerAccess));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_HIP(hipMemcpy(&value, opened, sizeof(value), hipMemcpyDeviceToHost));
  EXPECT_EQ(value, 77);
  void* again = nullptr;
  EXPECT_EQ(hipIpcOpenMemHandle(&again, handle, hipIpcMemLazyEnablePeerAccess),
            hipErrorInvalidResourceHandle);
  EXPECT_HIP(hipIpcCloseMemHandle(opened));
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
