// SPDX-License-Identifier: Apache-2.0
//
// AMD GPUs and their links as the kernel driver shows them: machines with MI250X and MI300X, and a
// PC with two Radeons. The trees were not recorded: they are made from what is known of such
// machines, in a folder of the test's own.
#include "info/kfd_topology.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

namespace meshmem {
namespace {

namespace fs = std::filesystem;

constexpr int kPcie = 2, kXgmi = 11;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

class Tree {
 public:
  Tree() {
    std::string name = fs::temp_directory_path() / "kfd_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree() { fs::remove_all(folder_); }
  const fs::path& folder() const { return folder_; }

  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((folder_ / file).parent_path());
    std::ofstream(folder_ / file) << text;
  }
  void add_processor(int node) const {
    write(path_of(node) / "properties", "cpu_cores_count 64\nsimd_count 0\nlocation_id 0\n");
    write(path_of(node) / "mem_banks/0/properties", "heap_type 0\nsize_in_bytes 137438953472\n");
  }
  void add_gpu(int node, int version, int location, int heap_type, std::uint64_t bytes) const {
    write(path_of(node) / "properties", "cpu_cores_count 0\nsimd_count 440\ngfx_target_version " +
                                            std::to_string(version) + "\nlocation_id " +
                                            std::to_string(location) + "\ndomain 0\n");
    write(path_of(node) / "mem_banks/0/properties", "heap_type " + std::to_string(heap_type) +
                                                        "\nsize_in_bytes " + std::to_string(bytes) +
                                                        "\nflags 0\nwidth 8192\n");
  }
  void add_link(int from, int to, int type, int weight, int bandwidth, const char* kind) {
    write(path_of(from) / kind / std::to_string(links_++) / "properties",
          "type " + std::to_string(type) + "\nversion_major 0\nnode_from " + std::to_string(from) +
              "\nnode_to " + std::to_string(to) + "\nweight " + std::to_string(weight) +
              "\nmin_bandwidth 0\nmax_bandwidth " + std::to_string(bandwidth) + "\nflags 1\n");
  }

 private:
  static fs::path path_of(int node) { return std::to_string(node); }
  fs::path folder_;
  int links_ = 0;
};

// Nodes of four processors, then eight GPUs. The two halves of each pair have four links between
// them.
TEST(KfdTopology, ShowsTheHopsOfMi250x) {
  constexpr std::array<std::pair<int, int>, 12> kDirect{{{0, 1},
                                                         {2, 3},
                                                         {4, 5},
                                                         {6, 7},
                                                         {0, 6},
                                                         {2, 4},
                                                         {0, 2},
                                                         {1, 3},
                                                         {1, 5},
                                                         {3, 7},
                                                         {4, 6},
                                                         {5, 7}}};
  Tree tree;
  for (int node = 0; node < 4; ++node) tree.add_processor(node);
  for (int gpu = 0; gpu < 8; ++gpu) tree.add_gpu(4 + gpu, 90010, (0xc1 + gpu) << 8, 1, 64 * kGiB);
  const auto place_of = [&](int a, int b) {
    for (std::size_t at = 0; at < kDirect.size(); ++at)
      if (kDirect[at] == std::pair{std::min(a, b), std::max(a, b)}) return static_cast<int>(at);
    return -1;
  };
  for (int a = 0; a < 8; ++a) {
    tree.add_link(4 + a, a / 2, kPcie, 20, 0, "io_links");
    for (int b = 0; b < 8; ++b) {
      if (a == b) continue;
      const int place = place_of(a, b);
      const int bandwidth = place < 0 ? 0 : place < 4 ? 200000 : place < 6 ? 100000 : 50000;
      tree.add_link(4 + a, 4 + b, kXgmi, place < 0 ? 30 : 15, bandwidth, "io_links");
    }
  }
  const std::vector<KfdGpu> gpus = read_kfd_topology(tree.folder());
  ASSERT_EQ(gpus.size(), 8u);
  EXPECT_EQ(describe(gpus[0]), "gfx90a at 0000:c1:00.0, 64.0 GiB, large BAR");
  EXPECT_EQ(links_of(gpus[0], gpus),
            "5: xGMI, weight 15, 200 GB/s; 6: xGMI, weight 15, 50 GB/s; 7: xGMI, weight 30; "
            "8: xGMI, weight 30; 9: xGMI, weight 30; 10: xGMI, weight 15, 100 GB/s; "
            "11: xGMI, weight 30");
}

TEST(KfdTopology, ShowsThatMi300xReachEachOtherDirectly) {
  Tree tree;
  for (int node = 0; node < 2; ++node) tree.add_processor(node);
  for (int a = 0; a < 8; ++a) {
    tree.add_gpu(2 + a, 90402, (0x05 + 0x10 * a) << 8, 1, 192 * kGiB);
    for (int b = 0; b < 8; ++b)
      if (a != b) tree.add_link(2 + a, 2 + b, kXgmi, 15, 64000, "io_links");
  }
  const std::vector<KfdGpu> gpus = read_kfd_topology(tree.folder());
  ASSERT_EQ(gpus.size(), 8u);
  EXPECT_EQ(describe(gpus[7]), "gfx942 at 0000:75:00.0, 192.0 GiB, large BAR");
  for (const KfdGpu& gpu : gpus) {
    for (const KfdLink& link : gpu.links) EXPECT_EQ(link.weight, 15u);
    EXPECT_EQ(gpu.links.size(), 7u);
  }
  EXPECT_EQ(links_of(gpus[7], gpus).substr(0, 30), "2: xGMI, weight 15, 64 GB/s; 3");
}

// By PCIe a GPU is reached if all of its memory is in its BAR.
TEST(KfdTopology, ShowsWhichOfTwoRadeonsIsReached) {
  Tree tree;
  tree.add_processor(0);
  tree.add_gpu(1, 110000, 0x0300, 1, 24 * kGiB);
  tree.add_gpu(2, 110000, 0x0a00, 2, 20 * kGiB);
  tree.add_link(1, 0, kPcie, 20, 0, "io_links");
  tree.add_link(2, 0, kPcie, 20, 0, "io_links");
  tree.add_link(2, 1, kPcie, 40, 16000, "p2p_links");
  const std::vector<KfdGpu> gpus = read_kfd_topology(tree.folder());
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(describe(gpus[0]), "gfx1100 at 0000:03:00.0, 24.0 GiB, large BAR");
  EXPECT_EQ(describe(gpus[1]), "gfx1100 at 0000:0a:00.0, 20.0 GiB, no large BAR");
  EXPECT_EQ(links_of(gpus[0], gpus), "2: no link");
  EXPECT_EQ(links_of(gpus[1], gpus), "1: PCIe, weight 40, 16 GB/s");
}

TEST(KfdTopology, LeavesOutWhatItCannotRead) {
  Tree tree;
  EXPECT_TRUE(read_kfd_topology(tree.folder() / "none").empty());
  tree.write("0/properties", "");  // a node of another container
  tree.write("1/properties", "simd_count many\n");
  tree.write("name/properties", "simd_count 4\n");
  tree.write("2/properties", "simd_count 4\ngfx_target_version 90010\n");
  tree.write("2/io_links/0/properties", "node_to 99\n");
  const std::vector<KfdGpu> gpus = read_kfd_topology(tree.folder());
  ASSERT_EQ(gpus.size(), 1u);
  EXPECT_EQ(describe(gpus[0]), "gfx90a at 0000:00:00.0, 0.0 GiB, no large BAR");
  EXPECT_EQ(links_of(gpus[0], gpus), "no other GPU");
}

}  // namespace
}  // namespace meshmem
