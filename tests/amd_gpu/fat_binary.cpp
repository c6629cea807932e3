// SPDX-License-Identifier: Apache-2.0
// See fat_binary.hpp. A bundle has a magic text, the number of its entries, and for each its
// offset, size and name (clang's page ClangOffloadBundler).
#include "fat_binary.hpp"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

namespace amd_gpu {
namespace {

std::uint64_t word_at(const std::uint8_t*& at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  at += sizeof word;
  return word;
}

// The GPU in "hipv4-amdgcn-amd-amdhsa--gfx90a", perhaps with features behind a colon.
const Architecture* architecture_of(std::string_view name) {
  if (!name.starts_with("hip")) return nullptr;
  const std::size_t dash = name.rfind("--");
  if (dash == name.npos) return nullptr;
  name.remove_prefix(dash + 2);
  return find_architecture(name.substr(0, name.find(':')));
}

struct Entry {
  const Architecture* architecture;
  std::span<const std::uint8_t> code;
};

// The first entry for the GPU `wanted`; if that is null, for any emulated GPU.
Entry find_entry(const std::uint8_t* begin, const Architecture* wanted) {
  if (std::memcmp(begin, kBundleMagic.data(), kBundleMagic.size()) != 0) return {};
  const std::uint8_t* at = begin + kBundleMagic.size();
  for (std::uint64_t left = word_at(at); left > 0; --left) {
    const std::uint64_t offset = word_at(at), size = word_at(at), length = word_at(at);
    const Architecture* const found =
        architecture_of({reinterpret_cast<const char*>(at), static_cast<std::size_t>(length)});
    if (found != nullptr && (wanted == nullptr || found == wanted))
      return {found, {begin + offset, size}};
    at += length;
  }
  return {};
}

}  // namespace

std::span<const std::uint8_t> find_code(const std::uint8_t* begin,
                                        const Architecture& architecture) {
  return find_entry(begin, &architecture).code;
}

const Architecture* first_architecture(const std::uint8_t* begin) {
  return find_entry(begin, nullptr).architecture;
}

bool for_each_code_object(const char* path, const std::function<void(const CodeObject&)>& use) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  for (auto at = bytes.find(kBundleMagic); at != bytes.npos;
       at = bytes.find(kBundleMagic, at + 1)) {
    for (const Architecture& architecture : kArchitectures) {
      const auto code = find_code(reinterpret_cast<const std::uint8_t*>(&bytes[at]), architecture);
      std::string why;
      const auto object = code.empty() ? nullptr : CodeObject::load(code, why);
      if (!why.empty()) return std::fprintf(stderr, "%s: %s\n", path, why.c_str()), false;
      if (object != nullptr) use(*object);
    }
  }
  return true;
}

}  // namespace amd_gpu
