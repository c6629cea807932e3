// SPDX-License-Identifier: Apache-2.0
// known_code FILE...
// Decodes all code for emulated GPUs in programs and libraries, and lists the instructions that the
// emulated GPU does not know: they would end a program where it comes to them. Exit status 1 if
// there are any, or no code.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>

#include "code_object.hpp"
#include "fat_binary.hpp"

namespace amd_gpu {
namespace {

struct Findings {
  std::size_t instructions = 0;
  std::map<std::string, std::size_t> unknown;  // mnemonic: how often
};

void look_through(const CodeObject& object, Findings& findings) {
  for (auto code = object.instructions(); code.size() >= 4;) {
    const std::unique_ptr<const Instruction> i(
        decode(object.architecture(), code.data(), code.size()));
    ++findings.instructions;
    if (!is_known(*i)) ++findings.unknown[i->text.substr(0, i->text.find(' '))];
    code = code.subspan(std::min<std::size_t>(i->size, code.size()));
  }
}

bool look_through_file(const char* path, Findings& findings) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  for (auto at = bytes.find(kBundleMagic); at != bytes.npos;
       at = bytes.find(kBundleMagic, at + 1)) {
    for (const Architecture& architecture : kArchitectures) {
      const auto object =
          find_code(reinterpret_cast<const std::uint8_t*>(&bytes[at]), architecture);
      std::string why;
      const auto loaded = object.empty() ? nullptr : CodeObject::load(object, why);
      if (!why.empty()) return std::fprintf(stderr, "%s: %s\n", path, why.c_str()), false;
      if (loaded != nullptr) look_through(*loaded, findings);
    }
  }
  return true;
}

int look(int files, char** paths) {
  Findings findings;
  for (int n = 0; n < files; ++n)
    if (!look_through_file(paths[n], findings)) return 1;
  for (const auto& [name, times] : findings.unknown)
    std::printf("not known: %s (%zu times)\n", name.c_str(), times);
  std::printf("%zu instructions, of which %zu kinds are not known\n", findings.instructions,
              findings.unknown.size());
  return findings.unknown.empty() && findings.instructions > 0 ? 0 : 1;
}

}  // namespace
}  // namespace amd_gpu

int main(int arguments, char** argument) { return amd_gpu::look(arguments - 1, argument + 1); }
