// SPDX-License-Identifier: Apache-2.0
//
// A node's files have lines of a name and a number. Invariant: nothing in the folder causes an
// exception.
#include "info/kfd_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>

namespace meshmem {
namespace {

using Properties = std::map<std::string, std::uint64_t>;
namespace fs = std::filesystem;

constexpr std::uint64_t kPublicMemory = 1, kPrivateMemory = 2;  // kinds of memory banks

Properties properties_of(const fs::path& folder) {
  std::ifstream file(folder / "properties");
  Properties properties;
  std::string name;
  std::uint64_t value = 0;
  while (file >> name >> value) properties[name] = value;
  return properties;
}

std::uint64_t value_of(const Properties& properties, const char* name) {
  const auto found = properties.find(name);
  return found == properties.end() ? 0 : found->second;
}

// The subfolders whose names are numbers, by number.
std::map<int, fs::path> numbered(const fs::path& folder) {
  std::map<int, fs::path> found;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string name = entry->path().filename();
    int number = 0;
    const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && rest == name.data() + name.size()) found[number] = entry->path();
  }
  return found;
}

// 90010 is gfx90a.
std::string architecture_of(std::uint64_t version) {
  return fmt::format("gfx{}{:x}{:x}", version / 10000, version / 100 % 100, version % 100);
}

std::string address_of(const Properties& properties) {
  const std::uint64_t location = value_of(properties, "location_id");
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", value_of(properties, "domain"),
                     location >> 8 & 0xff, location >> 3 & 0x1f, location & 7);
}

void add_memory(KfdGpu& gpu, const fs::path& node) {
  for (const auto& [number, folder] : numbered(node / "mem_banks")) {
    const Properties bank = properties_of(folder);
    const std::uint64_t kind = value_of(bank, "heap_type");
    if (kind != kPublicMemory && kind != kPrivateMemory) continue;
    gpu.bytes += value_of(bank, "size_in_bytes");
    gpu.has_large_bar = kind == kPublicMemory;
  }
}

// p2p_links are links by PCIe, which newer drivers list separately.
void add_links(KfdGpu& gpu, const fs::path& node) {
  for (const char* kind : {"io_links", "p2p_links"}) {
    for (const auto& [number, folder] : numbered(node / kind)) {
      const Properties link = properties_of(folder);
      gpu.links.push_back({static_cast<int>(value_of(link, "node_to")), value_of(link, "type"),
                           value_of(link, "weight"), value_of(link, "max_bandwidth")});
    }
  }
}

std::string name_of_type(std::uint64_t type) {
  constexpr std::uint64_t kPcie = 2, kXgmi = 11;
  return type == kPcie ? "PCIe" : type == kXgmi ? "xGMI" : fmt::format("link type {}", type);
}

std::string describe_link(const KfdGpu& from, int to) {
  const auto link = std::find_if(from.links.begin(), from.links.end(),
                                 [&](const KfdLink& candidate) { return candidate.to == to; });
  if (link == from.links.end()) return fmt::format("{}: no link", to);
  std::string text = fmt::format("{}: {}, weight {}", to, name_of_type(link->type), link->weight);
  if (link->megabytes_per_second != 0)
    text += fmt::format(", {} GB/s", link->megabytes_per_second / 1000);
  return text;
}

}  // namespace

std::vector<KfdGpu> read_kfd_topology(const fs::path& nodes) {
  std::vector<KfdGpu> gpus;
  for (const auto& [number, node] : numbered(nodes)) {
    const Properties properties = properties_of(node);
    if (value_of(properties, "simd_count") == 0) continue;  // processors
    KfdGpu gpu{.node = number,
               .architecture = architecture_of(value_of(properties, "gfx_target_version")),
               .address = address_of(properties),
               .bytes = 0,
               .has_large_bar = false,
               .links = {}};
    add_memory(gpu, node);
    add_links(gpu, node);
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

std::string describe(const KfdGpu& gpu) {
  return fmt::format("{} at {}, {:.1f} GiB, {}", gpu.architecture, gpu.address,
                     static_cast<double>(gpu.bytes) / (1 << 30),
                     gpu.has_large_bar ? "large BAR" : "no large BAR");
}

std::string links_of(const KfdGpu& gpu, const std::vector<KfdGpu>& all) {
  std::string text;
  for (const KfdGpu& other : all) {
    if (other.node == gpu.node) continue;
    text += (text.empty() ? "" : "; ") + describe_link(gpu, other.node);
  }
  return text.empty() ? "no other GPU" : text;
}

}  // namespace meshmem
