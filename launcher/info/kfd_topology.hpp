// SPDX-License-Identifier: Apache-2.0
//
// AMD GPUs and the links between them, as the kernel driver (KFD) shows them in sysfs: without the
// GPU's runtime, and also where that fails.
// Invariant: only reads files, and leaves out what is missing or strange there. Called by
// meshmem-info.
#ifndef MESHMEM_INFO_KFD_TOPOLOGY_HPP_
#define MESHMEM_INFO_KFD_TOPOLOGY_HPP_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace meshmem {

inline constexpr const char* kKfdNodes = "/sys/class/kfd/kfd/topology/nodes";

struct KfdLink {
  int to;                // a node
  std::uint64_t type;    // 2 is PCIe, 11 xGMI
  std::uint64_t weight;  // 15 for each hop by xGMI, 20 for each part of a path by PCIe
  std::uint64_t megabytes_per_second;  // at most; 0 if unknown
};

struct KfdGpu {
  int node;
  std::string architecture;  // gfx90a
  std::string address;       // 0000:c1:00.0
  std::uint64_t bytes;
  bool has_large_bar;  // processors and other GPUs reach all of its memory by PCIe
  std::vector<KfdLink> links;
};

// The GPUs in a folder with a subfolder for each node, by the number of the node.
std::vector<KfdGpu> read_kfd_topology(const std::filesystem::path& nodes);

// "gfx90a at 0000:c1:00.0, 64.0 GiB, large BAR"
std::string describe(const KfdGpu& gpu);
// "5: xGMI, weight 15, 200 GB/s; 6: no link", for each other GPU of the machine.
std::string links_of(const KfdGpu& gpu, const std::vector<KfdGpu>& all);

}  // namespace meshmem

#endif  // MESHMEM_INFO_KFD_TOPOLOGY_HPP_
