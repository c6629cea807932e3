// SPDX-License-Identifier: Apache-2.0
// Devices: their number, properties, memory and peers. MESHMEM_CPU_DEVICES is how many a process
// has (default: one for each PE of the machine). MESHMEM_CPU_PEERS says whether they reach each
// other (default: yes). MESHMEM_CPU_LARGE_BAR says whether the host may store into their memory
// (default: no).
// Invariant: all processes of a machine with the same settings see the same devices.
#include "devices.hpp"

#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "errors.hpp"
#include "hip/on_cpu/for_meshmem.h"
#include "hip/on_cpu/thread.h"

namespace hip_on_cpu {
namespace {

constexpr int kPciDomain = 0xffff;               // none that a machine has
constexpr std::uint32_t kLinkThroughMemory = 1;  // HSA's number for the link between processors
constexpr const char* kAllMemory = "MemTotal:";
constexpr int kThreadsPerProcessor = 2048;
constexpr int kClockKilohertz = 1000 * 1000;  // clocks count nanoseconds

thread_local int device_of_thread = 0;
// Programs write 1 to a GPU's register to flush the host's stores. Processors keep nothing back, so
// nobody reads this word.
unsigned flush_word = 0;
unsigned* const flush_register = &flush_word;
std::atomic<bool> peer_enabled[kMaxDevices][kMaxDevices];

// The greatest number of a list. Slurm writes one for several machines: 4(x2),1.
long greatest_in(const char* text) {
  long greatest = std::strtol(text, nullptr, 10);
  while ((text = std::strchr(text, ',')) != nullptr)
    greatest = std::max(greatest, std::strtol(++text, nullptr, 10));
  return greatest;
}

// Launchers tell their processes how many PEs they have started on this machine, or on the one with
// the most. The greatest number counts, since one launcher may run in another.
int pes_of_launchers() {
  long pes = 1;
  for (const char* name : {"MESHMEM_OSHRUN_PES", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                           "SLURM_STEP_TASKS_PER_NODE"})
    if (const char* text = std::getenv(name)) pes = std::max(pes, greatest_in(text));
  return static_cast<int>(std::min<long>(pes, kMaxDevices));
}

// By default one device for each PE of the machine, as programs expect.
int read_device_count() {
  const char* text = std::getenv("MESHMEM_CPU_DEVICES");
  if (text == nullptr) return pes_of_launchers();
  char* end = nullptr;
  const long count = std::strtol(text, &end, 10);
  if (end != text && *end == '\0' && count >= 1 && count <= kMaxDevices)
    return static_cast<int>(count);
  std::fprintf(
      stderr,
      "meshmem: MESHMEM_CPU_DEVICES is \"%s\": set it to a number from 1 to %d, or unset it\n",
      text, kMaxDevices);
  return 0;
}

void explain_missing_device(int device) {
  static std::once_flag once;
  const int count = device_count();
  if (count == 0 || device < count) return;
  std::call_once(once, [&] {
    std::fprintf(
        stderr,
        "meshmem: hipSetDevice(%d): kernels run on processors, where a process has a device for "
        "each PE that its launcher has started, or as many as MESHMEM_CPU_DEVICES says, up to %d; "
        "%d now\n",
        device, kMaxDevices, count);
  });
}

// libmeshmem reports invalid values.
bool is_set(const char* variable, bool fallback) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return fallback;
  const std::string_view value = text;
  return value != "0" && value != "no" && value != "off" && value != "false";
}

// Only a claim: all memory is the processor's.
bool are_peers() {
  static const bool are = is_set("MESHMEM_CPU_PEERS", true);
  return are;
}

// For machines without /proc. Here cached memory counts as taken.
std::size_t memory_by_call(bool all) {
  struct sysinfo about;
  if (sysinfo(&about) != 0) return 0;
  const unsigned long units = all ? about.totalram : about.freeram + about.bufferram;
  return static_cast<std::size_t>(units) * about.mem_unit;
}

// A line of /proc/meminfo, in bytes.
std::size_t memory_line(const std::string& name) {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::size_t kilobytes = 0;
  std::string unit;
  while (file >> key >> kilobytes) {
    std::getline(file, unit);
    if (key == name) return kilobytes * 1024;
  }
  return memory_by_call(name == kAllMemory);
}

// The control group's limit, where there is one.
std::size_t memory_limit() {
  std::ifstream file("/sys/fs/cgroup/memory.max");
  std::size_t bytes = 0;
  return file >> bytes ? bytes : SIZE_MAX;
}

std::size_t share_of(const std::string& line) {
  return std::min(memory_line(line), memory_limit()) /
         static_cast<std::size_t>(std::max(1, device_count()));
}

int processors() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

void fill(hipDeviceProp_t& p, int device) {
  p = {};
  std::snprintf(p.name, sizeof(p.name), "meshmem CPU device");
  std::snprintf(p.gcnArchName, sizeof(p.gcnArchName), "cpu");
  p.totalGlobalMem = device_memory_bytes();
  p.sharedMemPerBlock = kSharedMemoryPerBlock;
  p.warpSize = warpSize;
  p.maxThreadsPerBlock = kMaxThreadsPerBlock;
  std::copy(std::begin(kMaxThreadsDim), std::end(kMaxThreadsDim), p.maxThreadsDim);
  std::copy(std::begin(kMaxGridSize), std::end(kMaxGridSize), p.maxGridSize);
  p.maxThreadsPerMultiProcessor = kThreadsPerProcessor;
  p.multiProcessorCount = processors();
  p.major = 1;
  p.clockRate = kClockKilohertz;
  p.cooperativeLaunch = p.canMapHostMemory = p.concurrentKernels = 1;
  p.pciDomainID = kPciDomain;
  p.pciBusID = device + 1;
}

std::optional<int> attribute_of(const hipDeviceProp_t& p, hipDeviceAttribute_t attribute) {
  const std::pair<hipDeviceAttribute_t, int> known[] = {
      {hipDeviceAttributeWarpSize, p.warpSize},
      {hipDeviceAttributeMaxThreadsPerBlock, p.maxThreadsPerBlock},
      {hipDeviceAttributeMaxSharedMemoryPerBlock, static_cast<int>(p.sharedMemPerBlock)},
      {hipDeviceAttributeMultiprocessorCount, p.multiProcessorCount},
      {hipDeviceAttributeClockRate, p.clockRate},
      {hipDeviceAttributeWallClockRate, p.clockRate},
      {hipDeviceAttributeCooperativeLaunch, p.cooperativeLaunch},
      {hipDeviceAttributePciDomainID, p.pciDomainID},
      {hipDeviceAttributePciBusId, p.pciBusID},
      {hipDeviceAttributePciDeviceId, p.pciDeviceID},
      {hipDeviceAttributeManagedMemory, 1},
      {hipDeviceAttributeConcurrentManagedAccess, 1},
      {hipDeviceAttributeUnifiedAddressing, 1},
      {hipDeviceAttributeComputeCapabilityMajor, p.major},
      {hipDeviceAttributeComputeCapabilityMinor, p.minor},
  };
  for (const auto& [name, value] : known)
    if (name == attribute) return value;
  return std::nullopt;
}

hipError_t check_device(const void* result, int device) {
  if (device_count() == 0) return hipErrorNoDevice;
  if (!is_device(device)) return hipErrorInvalidDevice;
  return result == nullptr ? hipErrorInvalidValue : hipSuccess;
}

hipError_t check_pair(int device, int peer) {
  if (device_count() == 0) return hipErrorNoDevice;
  return is_device(device) && is_device(peer) ? hipSuccess : hipErrorInvalidDevice;
}

hipError_t check_peer_of(int device, int peer) {
  const hipError_t error = check_pair(device, peer);
  return error == hipSuccess && device == peer ? hipErrorInvalidDevice : error;
}

}  // namespace

int device_count() {
  static const int count = read_device_count();
  return count;
}
int current_device() { return device_of_thread; }
bool has_wide_kernels() {
  static const bool has = is_set("MESHMEM_CPU_WIDE_KERNELS", false);
  return has;
}

bool has_large_bar() {
  static const bool has = is_set("MESHMEM_CPU_LARGE_BAR", false);
  return has;
}
std::size_t device_memory_bytes() { return share_of(kAllMemory); }
std::size_t free_memory_of_device() { return share_of("MemAvailable:"); }

}  // namespace hip_on_cpu

using namespace hip_on_cpu;

extern "C" {

hipError_t hipInit(unsigned flags) {
  host_only();
  if (flags != 0) return remember(hipErrorInvalidValue);
  return remember(device_count() > 0 ? hipSuccess : hipErrorNoDevice);
}

hipError_t hipGetDeviceCount(int* count) {
  host_only();
  if (count == nullptr) return remember(hipErrorInvalidValue);
  *count = device_count();
  return remember(*count > 0 ? hipSuccess : hipErrorNoDevice);
}

hipError_t hipSetDevice(int device) {
  host_only();
  const hipError_t error = check_device(&device, device);
  if (error == hipSuccess)
    device_of_thread = device;
  else
    explain_missing_device(device);
  return remember(error);
}

hipError_t hipGetDevice(int* device) {
  host_only();
  const hipError_t error = check_device(device, device_of_thread);
  if (error == hipSuccess) *device = device_of_thread;
  return remember(error);
}

hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
  host_only();
  const hipError_t error = check_device(properties, device);
  if (error == hipSuccess) fill(*properties, device);
  return remember(error);
}

hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device) {
  host_only();
  if (const hipError_t error = check_device(value, device); error != hipSuccess)
    return remember(error);
  if (attribute == hipDeviceAttributeHdpMemFlushCntl) {
    // As on ROCm, `value` points to a pointer, although its type says int.
    std::memcpy(value, &flush_register, sizeof(flush_register));
    return hipSuccess;
  }
  hipDeviceProp_t properties;
  fill(properties, device);
  const std::optional<int> found = attribute_of(properties, attribute);
  if (found) *value = *found;
  return remember(found ? hipSuccess : hipErrorInvalidValue);
}

hipError_t hipDeviceGetPCIBusId(char* text, int length, int device) {
  host_only();
  const hipError_t error = check_device(text, device);
  if (error != hipSuccess) return remember(error);
  if (length < 13) return remember(hipErrorInvalidValue);
  std::snprintf(text, static_cast<std::size_t>(length), "%04x:%02x:00.0", kPciDomain, device + 1);
  return hipSuccess;
}

hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
  host_only();
  const hipError_t error = can == nullptr ? hipErrorInvalidValue : check_pair(device, peer);
  if (error == hipSuccess) *can = device != peer && are_peers();
  return remember(error);
}

hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  host_only();
  if (flags != 0) return remember(hipErrorInvalidValue);
  const int device = current_device();
  if (const hipError_t error = check_peer_of(device, peer); error != hipSuccess)
    return remember(error);
  if (!are_peers()) return remember(hipErrorPeerAccessUnsupported);
  return remember(peer_enabled[device][peer].exchange(true) ? hipErrorPeerAccessAlreadyEnabled
                                                            : hipSuccess);
}

hipError_t hipDeviceDisablePeerAccess(int peer) {
  host_only();
  const int device = current_device();
  if (const hipError_t error = check_peer_of(device, peer); error != hipSuccess)
    return remember(error);
  return remember(peer_enabled[device][peer].exchange(false) ? hipSuccess
                                                             : hipErrorPeerAccessNotEnabled);
}

hipError_t hipExtGetLinkTypeAndHopCount(int device, int peer, std::uint32_t* link,
                                        std::uint32_t* hops) {
  host_only();
  const hipError_t error = check_pair(device, peer);
  if (error != hipSuccess) return remember(error);
  if (link == nullptr || hops == nullptr || device == peer) return remember(hipErrorInvalidValue);
  *link = kLinkThroughMemory;
  *hops = 1;
  return hipSuccess;
}

hipError_t hipMemGetInfo(std::size_t* available, std::size_t* total) {
  host_only();
  const hipError_t error = check_device(total, current_device());
  if (error != hipSuccess || available == nullptr)
    return remember(error == hipSuccess ? hipErrorInvalidValue : error);
  *total = device_memory_bytes();
  *available = std::min(*total, free_memory_of_device());
  return hipSuccess;
}

hipError_t hipRuntimeGetVersion(int* version) {
  host_only();
  if (version == nullptr) return remember(hipErrorInvalidValue);
  *version = HIP_VERSION;
  return hipSuccess;
}
hipError_t hipDriverGetVersion(int* version) {
  host_only();
  return hipRuntimeGetVersion(version);
}

}  // extern "C"
