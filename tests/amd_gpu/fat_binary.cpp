// SPDX-License-Identifier: Apache-2.0
// See fat_binary.hpp. A bundle has a magic text, the number of its entries, and of each its offset,
// size and name (clang's page ClangOffloadBundler).
#include "fat_binary.hpp"

#include <cstring>

namespace amd_gpu {
namespace {

constexpr std::string_view kProcessor = "gfx90a";

std::uint64_t word_at(const std::uint8_t*& at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  at += sizeof word;
  return word;
}

// "hipv4-amdgcn-amd-amdhsa--gfx90a", perhaps with features behind a colon.
bool is_for_this_gpu(std::string_view name) {
  if (!name.starts_with("hip")) return false;
  const std::size_t dash = name.rfind("--");
  if (dash == name.npos) return false;
  name.remove_prefix(dash + 2);
  return name.substr(0, name.find(':')) == kProcessor;
}

}  // namespace

std::span<const std::uint8_t> find_code(const std::uint8_t* begin) {
  if (std::memcmp(begin, kBundleMagic.data(), kBundleMagic.size()) != 0) return {};
  const std::uint8_t* at = begin + kBundleMagic.size();
  for (std::uint64_t left = word_at(at); left > 0; --left) {
    const std::uint64_t offset = word_at(at), size = word_at(at), length = word_at(at);
    const std::string_view name(reinterpret_cast<const char*>(at), length);
    if (is_for_this_gpu(name)) return {begin + offset, size};
    at += length;
  }
  return {};
}

}  // namespace amd_gpu
