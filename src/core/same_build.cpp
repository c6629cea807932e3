// SPDX-License-Identifier: Apache-2.0
//
// The build's name. The hash of the sources comes from cmake/source_hash.cmake. That of the layout
// tells builds of the same sources apart whose target, options or compiler lay structures out
// differently.
#include "core/same_build.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "core/active_sets.hpp"
#include "core/team_area.hpp"
#include "device/state.hpp"
#include "memory/arena.hpp"
#include "transport/network/format.hpp"

namespace meshmem {

extern const char kSources[];  // cmake/source_hash.cmake writes it

namespace {

// FNV-1a.
constexpr std::uint64_t hash_of(std::initializer_list<std::size_t> numbers) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::size_t number : numbers) hash = (hash ^ number) * 0x100000001b3;
  return hash;
}

constexpr std::uint64_t kLayout = hash_of(
    {sizeof(ArenaHeader), offsetof(ArenaHeader, lost), sizeof(DirectoryEntry),
     offsetof(DirectoryEntry, settings), offsetof(DirectoryEntry, device), sizeof(WireAddress),
     sizeof(JobStatus), sizeof(PeStatus), sizeof(TeamArea), kTeamAreas, kStageBytes,
     sizeof(ActiveSetList), sizeof(Settings), sizeof(network::Record), sizeof(network::Head),
     sizeof(device::SyncLayout), sizeof(device::State), sizeof(device::ProxyCommand)});

// The file that this code is in: libmeshmem.so, or a program that has it inside.
std::string own_file() {
  Dl_info about{};
  return dladdr(reinterpret_cast<const void*>(&build_name), &about) != 0 ? about.dli_fname : "?";
}

}  // namespace

const std::string& build_name() {
  static const std::string name = fmt::format("{}-{:08x}", kSources, kLayout >> 32);
  return name;
}

bool is_build_name(std::string_view text) {
  return text.find('-') != std::string_view::npos && text.size() <= kMostBuildBytes &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.' || c == '-';
         });
}

std::string other_build_line(int pe, std::string_view theirs) {
  return fmt::format(
      "this PE runs build {} of meshmem ({}) and PE {} runs {}; start the same on all PEs: `ldd "
      "PROGRAM` and LD_LIBRARY_PATH say which library a PE takes",
      build_name(), own_file(), pe,
      is_build_name(theirs) ? fmt::format("build {}", theirs) : "another version");
}

}  // namespace meshmem
