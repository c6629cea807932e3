// SPDX-License-Identifier: Apache-2.0
// kernel_table FILE...
// Prints the resources of kernels for emulated GPUs in programs and libraries, as their metadata
// says, with a row for each template. A row has the most registers, spilt registers, bytes of
// scratch and bytes of LDS of one instance, and the fewest waves that a SIMD unit holds. Exit
// status 1 if there is no kernel, or code that cannot be read.
#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

#include "code_object.hpp"
#include "fat_binary.hpp"

namespace amd_gpu {
namespace {

// Of a SIMD unit: vector registers of a lane, how many are allocated at once, and most waves (CDNA2
// ISA and CDNA3 ISA, "Wave state"; LLVM's AMDGPU usage). Scalar registers never limit.
constexpr unsigned kRegistersOfSimd = 512, kRegistersAtOnce = 8, kMostWaves = 8;

unsigned waves(const Kernel& kernel) {
  const unsigned each = std::max(
      1u, (kernel.vector_registers + kRegistersAtOnce - 1) / kRegistersAtOnce * kRegistersAtOnce);
  return std::min(kMostWaves, kRegistersOfSimd / each);
}

// Without namespaces, template arguments and parameters.
std::string short_name(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
  std::string name = status == 0 ? text.get() : mangled;
  constexpr std::string_view kUnnamed = "(anonymous namespace)::";
  for (std::size_t at; (at = name.find(kUnnamed)) != name.npos;) name.erase(at, kUnnamed.size());
  name.resize(std::min(name.find('('), name.find('<')));
  return name.substr(name.find_last_of(": ") + 1);
}

// The most of each that an instance of a kernel's template takes.
struct Row {
  unsigned instances = 0, fewest_waves = kMostWaves;
  std::array<unsigned, 7> most{};
};
using Table = std::map<std::pair<std::string, std::string>, Row>;  // by GPU and name

void add(const CodeObject& object, Table& table) {
  for (const auto& [mangled, k] : object.kernels()) {
    Row& row = table[{std::string(object.architecture().name), short_name(mangled)}];
    const std::array<unsigned, 7> taken = {k.vector_registers - k.accumulation_registers,
                                           k.accumulation_registers,
                                           k.scalar_registers,
                                           k.spilt_vector_registers,
                                           k.spilt_scalar_registers,
                                           k.descriptor.private_size,
                                           k.descriptor.group_size};
    for (std::size_t n = 0; n < taken.size(); ++n) row.most[n] = std::max(row.most[n], taken[n]);
    row.fewest_waves = std::min(row.fewest_waves, waves(k));
    ++row.instances;
  }
}

int print_all(int files, char** paths) {
  Table table;
  for (int n = 0; n < files; ++n)
    if (!for_each_code_object(paths[n], [&](const CodeObject& object) { add(object, table); }))
      return 1;
  std::printf(
      "| GPU | kernel | instances | VGPRs | AGPRs | SGPRs | spilt VGPRs | spilt SGPRs | "
      "scratch | LDS | waves |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const auto& [name, row] : table) {
    std::printf("| %s | `%s` | %u |", name.first.c_str(), name.second.c_str(), row.instances);
    for (const unsigned count : row.most) std::printf(" %u |", count);
    std::printf(" %u |\n", row.fewest_waves);
  }
  return table.empty() ? 1 : 0;
}

}  // namespace
}  // namespace amd_gpu

int main(int arguments, char** argument) { return amd_gpu::print_all(arguments - 1, argument + 1); }
