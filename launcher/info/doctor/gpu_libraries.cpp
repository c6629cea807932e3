// SPDX-License-Identifier: Apache-2.0
//
// HIP's version is in its file's name, "libamdhip64.so.6.3.60300", to which links lead. Asking the
// library would start it before start-up has set variables for it (gpu/device_memory.cpp). NVML's
// calls and numbers are written down here, since its header comes only with CUDA. NVIDIA keeps this
// binary interface.
#include "info/doctor/gpu_libraries.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <type_traits>

namespace meshmem::doctor {
namespace {

constexpr int kSuccess = 0;
constexpr int kWrites = 1;           // NVML_P2P_CAPS_INDEX_WRITE
constexpr unsigned kMostLinks = 18;  // NVML_NVLINK_MAX_LINKS
constexpr unsigned kVersionBytes = 80;

using Device = struct nvmlDevice*;

// nvmlBAR1Memory_t and nvmlMemory_t, in bytes.
struct Amounts {
  unsigned long long total, others[2];
};

struct Nvml {
  int (*init)();
  int (*shutdown)();
  int (*driver_version)(char* text, unsigned bytes);
  int (*cuda_version)(int* version);
  int (*count)(unsigned* gpus);
  int (*handle)(unsigned index, Device* gpu);
  int (*peer_status)(Device from, Device to, int index, int* status);
  int (*link_state)(Device gpu, unsigned link, int* is_active);
  int (*bar)(Device gpu, Amounts* of_bar);
  int (*memory)(Device gpu, Amounts* of_memory);
};

bool load(Nvml& nvml) {
  void* const library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return false;
  const auto find = [library](auto& routine, const char* name) {
    routine = reinterpret_cast<std::remove_reference_t<decltype(routine)>>(::dlsym(library, name));
    return routine != nullptr;
  };
  return find(nvml.init, "nvmlInit_v2") && find(nvml.shutdown, "nvmlShutdown") &&
         find(nvml.driver_version, "nvmlSystemGetDriverVersion") &&
         find(nvml.cuda_version, "nvmlSystemGetCudaDriverVersion_v2") &&
         find(nvml.count, "nvmlDeviceGetCount_v2") &&
         find(nvml.handle, "nvmlDeviceGetHandleByIndex_v2") &&
         find(nvml.peer_status, "nvmlDeviceGetP2PStatus") &&
         find(nvml.link_state, "nvmlDeviceGetNvLinkState") &&
         find(nvml.bar, "nvmlDeviceGetBAR1MemoryInfo") &&
         find(nvml.memory, "nvmlDeviceGetMemoryInfo");
}

// nvmlGpuP2PStatus_t
const char* cause_of(int status) {
  constexpr const char* kCauses[] = {nullptr,
                                     "the chipset does not support it",
                                     "a GPU does not support it",
                                     "they are below different I/O hubs",
                                     "a registry key of the driver disables it",
                                     "it is not supported"};
  constexpr int kKnown = sizeof kCauses / sizeof *kCauses;
  return status >= 0 && status < kKnown ? kCauses[status] : "the driver gives no cause";
}

std::vector<Device> gpus_of(const Nvml& nvml) {
  unsigned count = 0;
  if (nvml.count(&count) != kSuccess) count = 0;
  std::vector<Device> gpus;
  for (unsigned index = 0; index < count; ++index) {
    Device gpu = nullptr;
    if (nvml.handle(index, &gpu) == kSuccess) gpus.push_back(gpu);
  }
  return gpus;
}

int count_active_links(const Nvml& nvml, Device gpu) {
  int active = 0;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    int is_active = 0;
    if (nvml.link_state(gpu, link, &is_active) == kSuccess && is_active == 1) ++active;
  }
  return active;
}

NvmlAnswer::BarSize bar_size_of(const Nvml& nvml, Device gpu) {
  Amounts bar{}, memory{};
  if (nvml.bar(gpu, &bar) != kSuccess || nvml.memory(gpu, &memory) != kSuccess) return {0, 0};
  return {bar.total, memory.total};
}

void find_gaps(const Nvml& nvml, const std::vector<Device>& gpus, NvmlAnswer& answer) {
  const int count = static_cast<int>(gpus.size());
  for (int from = 0; from < count; ++from) {
    for (int to = 0; to < count; ++to) {
      int status = 0;
      if (from == to || nvml.peer_status(gpus[from], gpus[to], kWrites, &status) != kSuccess)
        continue;
      if (const char* cause = cause_of(status)) answer.gaps.push_back({from, to, cause});
    }
  }
}

}  // namespace

std::string hip_library_of(const std::string& version) {
  return "libamdhip64.so." + version.substr(0, version.find('.'));
}

std::string ask_hip(const std::string& version) {
  void* library = ::dlopen(hip_library_of(version).c_str(), RTLD_LAZY | RTLD_LOCAL);
  void* inside = library ? ::dlsym(library, "hipRuntimeGetVersion") : nullptr;
  Dl_info about{};
  if (!inside || ::dladdr(inside, &about) == 0) return "";
  std::error_code failed;
  return hip_version_in(std::filesystem::canonical(about.dli_fname, failed).filename());
}

std::string hip_version_in(const std::string& file) {
  int major = 0, minor = 0;
  const char* versions = std::strstr(file.c_str(), ".so.");
  if (!versions || std::sscanf(versions, ".so.%d.%d", &major, &minor) != 2) return kHipUnknown;
  return fmt::format("{}.{}", major, minor);
}

std::optional<NvmlAnswer> ask_nvml() {
  Nvml nvml{};
  if (!load(nvml) || nvml.init() != kSuccess) return std::nullopt;
  NvmlAnswer answer;
  char text[kVersionBytes] = "?";
  (void)nvml.driver_version(text, sizeof text);
  text[kVersionBytes - 1] = 0;
  answer.driver = text;
  if (nvml.cuda_version(&answer.cuda_version) != kSuccess) answer.cuda_version = 0;
  const std::vector<Device> gpus = gpus_of(nvml);
  for (const Device gpu : gpus) {
    answer.active_links.push_back(count_active_links(nvml, gpu));
    answer.bar_sizes.push_back(bar_size_of(nvml, gpu));
  }
  find_gaps(nvml, gpus, answer);
  (void)nvml.shutdown();
  return answer;
}

}  // namespace meshmem::doctor
