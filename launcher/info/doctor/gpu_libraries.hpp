// SPDX-License-Identifier: Apache-2.0
//
// Asks libraries of GPUs: which runtime of HIP programs would load, and NVIDIA's management library
// about the driver and the paths between GPUs. Invariant: libraries are loaded, not linked. None
// starts a device, and an answer that a library does not give is absent. Called through Machine,
// where tests put answers of their own.
#ifndef MESHMEM_INFO_DOCTOR_GPU_LIBRARIES_HPP_
#define MESHMEM_INFO_DOCTOR_GPU_LIBRARIES_HPP_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace meshmem::doctor {

// "libamdhip64.so.6" for "6.3": binaries of one major version need that file.
std::string hip_library_of(const std::string& version);

// The version of the library that a build with HIP `version` loads, as "6.3"; "" without one.
std::string ask_hip(const std::string& version);

// The version of a library whose file has none in its name.
inline constexpr const char* kHipUnknown = "?";
std::string hip_version_in(const std::string& file);  // "6.3" of "libamdhip64.so.6.3.60300"

struct NvmlAnswer {
  std::string driver;    // "580.95.05"
  int cuda_version = 0;  // the newest that the driver runs, as 1000 * major + 10 * minor

  std::vector<int> active_links;  // NVLinks of each GPU
  // Bytes of each GPU's BAR1, by which others reach its memory over PCIe, and of all of its memory;
  // 0: not reported.
  struct BarSize {
    std::uint64_t bar, memory;
  };
  std::vector<BarSize> bar_sizes{};
  // GPU `from` cannot write to the memory of GPU `to`, and why.
  struct Gap {
    int from, to;
    std::string cause;
  };
  std::vector<Gap> gaps{};
};

// nullopt: there is no such library, or it does not start.
std::optional<NvmlAnswer> ask_nvml();

}  // namespace meshmem::doctor

#endif  // MESHMEM_INFO_DOCTOR_GPU_LIBRARIES_HPP_
