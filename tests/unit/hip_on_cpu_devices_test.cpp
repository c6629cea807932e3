// SPDX-License-Identifier: Apache-2.0
// HIP on CPUs: devices, their number, properties and peers.
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "hip_on_cpu.hpp"

namespace {

TEST(HipDevices, AreAsManyAsTheEnvironmentSays) {
  int count = 0, device = -1;
  ASSERT_HIP(hipGetDeviceCount(&count));
  EXPECT_EQ(count, 4);
  ASSERT_HIP(hipSetDevice(3));
  std::thread([] {
    int other = -1;
    EXPECT_HIP(hipGetDevice(&other));
    EXPECT_EQ(other, 0);  // each thread has its own
  }).join();
  EXPECT_HIP(hipGetDevice(&device));
  EXPECT_EQ(device, 3);
  EXPECT_EQ(hipSetDevice(4), hipErrorInvalidDevice);
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidDevice);
  EXPECT_HIP(hipGetLastError());
  ASSERT_HIP(hipSetDevice(0));
}

TEST(HipDevices, TellWhatTheyAre) {
  hipDeviceProp_t properties;
  ASSERT_HIP(hipGetDeviceProperties(&properties, 2));
  EXPECT_STREQ(properties.name, "meshmem CPU device");
  EXPECT_STREQ(properties.gcnArchName, "cpu");
  EXPECT_EQ(properties.warpSize, warpSize);
  std::size_t available = 0, total = 0;
  ASSERT_HIP(hipMemGetInfo(&available, &total));
  EXPECT_GT(available, 0u);
  EXPECT_LE(available, total);
  EXPECT_EQ(total, properties.totalGlobalMem);
  char first[32], second[32];
  ASSERT_HIP(hipDeviceGetPCIBusId(first, sizeof(first), 0));
  ASSERT_HIP(hipDeviceGetPCIBusId(second, sizeof(second), 1));
  EXPECT_STRNE(first, second);
}

// The attribute is a pointer to a word, to which programs write 1.
TEST(HipDevices, HaveAWordThatFlushesNothing) {
  for (const int device : {0, 3}) {
    unsigned int* flush = nullptr;
    ASSERT_HIP(hipDeviceGetAttribute(reinterpret_cast<int*>(&flush),
                                     hipDeviceAttributeHdpMemFlushCntl, device));
    ASSERT_NE(flush, nullptr);
    __atomic_store_n(flush, 1u, __ATOMIC_SEQ_CST);
  }
  unsigned int* flush = nullptr;
  EXPECT_EQ(
      hipDeviceGetAttribute(reinterpret_cast<int*>(&flush), hipDeviceAttributeHdpMemFlushCntl, 4),
      hipErrorInvalidDevice);
  EXPECT_EQ(flush, nullptr);
}

TEST(HipDevices, ArePeers) {
  int can = -1;
  ASSERT_HIP(hipDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 1);
  ASSERT_HIP(hipDeviceCanAccessPeer(&can, 1, 1));
  EXPECT_EQ(can, 0);
  EXPECT_HIP(hipDeviceEnablePeerAccess(1, 0));
  EXPECT_EQ(hipDeviceEnablePeerAccess(1, 0), hipErrorPeerAccessAlreadyEnabled);
  EXPECT_EQ(hipDeviceEnablePeerAccess(9, 0), hipErrorInvalidDevice);
  EXPECT_HIP(hipDeviceDisablePeerAccess(1));
  EXPECT_EQ(hipDeviceDisablePeerAccess(1), hipErrorPeerAccessNotEnabled);
  EXPECT_EQ(hipDeviceDisablePeerAccess(0), hipErrorInvalidDevice);
  EXPECT_EQ(hipDeviceDisablePeerAccess(9), hipErrorInvalidDevice);
  EXPECT_HIP(hipDeviceEnablePeerAccess(1, 0));  // once more
  EXPECT_HIP(hipDeviceDisablePeerAccess(1));
  std::uint32_t link = 0, hops = 0;
  EXPECT_HIP(hipExtGetLinkTypeAndHopCount(0, 3, &link, &hops));
  EXPECT_EQ(hops, 1u);
}

TEST(HipDevicesDeathTest, AreNoPeersWhereTheEnvironmentSaysSo) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("MESHMEM_CPU_PEERS", "0", 1);
        int can = -1;
        const bool refused = hipDeviceCanAccessPeer(&can, 0, 1) == hipSuccess && can == 0 &&
                             hipDeviceEnablePeerAccess(1, 0) == hipErrorPeerAccessUnsupported;
        _exit(refused ? 7 : 1);
      },
      testing::ExitedWithCode(7), "^$");
}

// The library's own parser takes 1 to 64, and reports other values.
TEST(HipDevicesDeathTest, AreUpTo64) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const char* number : {"64", "65"}) {
    EXPECT_EXIT(
        {
          setenv("MESHMEM_CPU_DEVICES", number, 1);
          int count = -1;
          (void)hipGetDeviceCount(&count);
          _exit(count);
        },
        testing::ExitedWithCode(number == std::string("64") ? 64 : 0), "");
  }
}

// A process of its own, which has `variables` in its environment, ends with the number of devices.
void expect_devices(int number, const std::vector<std::pair<const char*, const char*>>& variables) {
  EXPECT_EXIT(
      {
        for (const char* name :
             {"MESHMEM_CPU_DEVICES", "MESHMEM_OSHRUN_PES", "OMPI_COMM_WORLD_LOCAL_SIZE",
              "MPI_LOCALNRANKS", "SLURM_STEP_TASKS_PER_NODE"})
          unsetenv(name);
        for (const auto& [name, value] : variables) setenv(name, value, 1);
        int count = -1;
        (void)hipGetDeviceCount(&count);
        _exit(count);
      },
      testing::ExitedWithCode(number), "^$");
}

// Programs take the device of their number among the PEs of the machine.
TEST(HipDevicesDeathTest, AreAsManyAsTheLauncherHasPes) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  expect_devices(1, {});
  for (const char* name : {"MESHMEM_OSHRUN_PES", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                           "SLURM_STEP_TASKS_PER_NODE"}) {
    SCOPED_TRACE(name);
    expect_devices(3, {{name, "3"}});
    expect_devices(64, {{name, "99999999999999999999"}});
    expect_devices(1, {{name, "-2"}});
    expect_devices(1, {{name, "none"}});
    expect_devices(2, {{name, "3"}, {"MESHMEM_CPU_DEVICES", "2"}});
  }
  expect_devices(4, {{"MESHMEM_OSHRUN_PES", "1"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}});
  // Slurm's numbers are those of all machines.
  expect_devices(8, {{"SLURM_STEP_TASKS_PER_NODE", "8(x16)"}, {"SLURM_STEP_NUM_TASKS", "128"}});
  expect_devices(5, {{"SLURM_STEP_TASKS_PER_NODE", "4(x20),5,1(x3)"}});
  // mpirun has Slurm start a process of its own on each machine.
  expect_devices(4, {{"SLURM_STEP_TASKS_PER_NODE", "1(x9)"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}});
  expect_devices(1, {{"SLURM_STEP_TASKS_PER_NODE", ",,"}});
}

TEST(HipDevicesDeathTest, RefuseABadNumberWithOneLine) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("MESHMEM_CPU_DEVICES", "many", 1);
        void* memory = nullptr;
        int count = -1;
        const bool refused = hipMalloc(&memory, 8) == hipErrorNoDevice &&
                             hipGetDeviceCount(&count) == hipErrorNoDevice && count == 0;
        _exit(refused ? 7 : 1);
      },
      testing::ExitedWithCode(7), "^meshmem: MESHMEM_CPU_DEVICES is \"many\": [^\n]*\n$");
}

TEST(HipDevicesDeathTest, OneThatIsMissingIsExplainedOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("MESHMEM_CPU_DEVICES", "2", 1);
        const bool refused =
            hipSetDevice(64) == hipErrorInvalidDevice && hipSetDevice(2) == hipErrorInvalidDevice &&
            hipSetDevice(-1) == hipErrorInvalidDevice && hipSetDevice(1) == hipSuccess;
        _exit(refused ? 7 : 1);
      },
      testing::ExitedWithCode(7),
      "^meshmem: hipSetDevice\\(64\\): [^\n]*MESHMEM_CPU_DEVICES says, up to 64; 2 now\n$");
}

}  // namespace
