// SPDX-License-Identifier: Apache-2.0
//
// Asks NVIDIA's management library about the driver and the ways between GPUs.
// Invariant: the library is loaded, not linked; what it does not answer is absent. Called through
// Machine, where tests put answers of their own.
#ifndef MESHMEM_INFO_DOCTOR_NVML_HPP_
#define MESHMEM_INFO_DOCTOR_NVML_HPP_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace meshmem::doctor {

struct NvmlAnswer {
  std::string driver;    // "580.95.05"
  int cuda_version = 0;  // the newest that the driver runs, as 1000 * major + 10 * minor

  std::vector<int> active_links;  // NVLinks of each GPU
  // How much of each GPU's memory others reach over PCIe (its BAR1), and all of it; 0: not told.
  struct Room {
    std::uint64_t shown, all;
  };
  std::vector<Room> rooms{};
  // Two GPUs whose memory one cannot write to from the other, and why.
  struct Gap {
    int from, to;
    std::string cause;
  };
  std::vector<Gap> gaps{};
};

// nullopt: there is no such library, or it does not start.
std::optional<NvmlAnswer> ask_nvml();

}  // namespace meshmem::doctor

#endif  // MESHMEM_INFO_DOCTOR_NVML_HPP_
