// SPDX-License-Identifier: Apache-2.0
// known_code FILE...
// Decodes all code for emulated GPUs in programs and libraries. Lists the instructions that the
// emulated GPU does not know, which would end a program that reaches them. Also lists those that no
// lane executes, a mistake of the compiler (idle_lanes.hpp). Exit status 1 if there are any, or no
// code.
#include <cinttypes>
#include <cstdio>
#include <map>

#include "code_object.hpp"
#include "fat_binary.hpp"
#include "idle_lanes.hpp"

namespace amd_gpu {
namespace {

struct Findings {
  std::size_t instructions = 0, idle = 0;
  std::map<std::string, std::size_t> unknown;  // mnemonic: how often
};

// The last kernel that begins before an address; functions that it calls may follow it.
std::string kernel_before(const CodeObject& object, std::uint64_t address) {
  const Kernel* last = nullptr;
  for (const auto& [name, kernel] : object.kernels())
    if (kernel.entry <= address && (last == nullptr || kernel.entry > last->entry)) last = &kernel;
  return last == nullptr ? "no kernel" : last->name;
}

void look_through(const char* path, const CodeObject& object, Findings& findings) {
  const Listing listing = list_of(object);
  findings.instructions += listing.instructions.size();
  for (const auto& i : listing.instructions)
    if (!is_known(*i)) ++findings.unknown[i->text.substr(0, i->text.find(' '))];
  const auto begin = reinterpret_cast<std::uint64_t>(object.instructions().data());
  for (const std::size_t n : executed_by_no_lane(listing)) {
    ++findings.idle;
    std::printf("%s: no lane is active at '%s' for %s, %#" PRIx64 " in the code, behind %s\n", path,
                listing.instructions[n]->text.c_str(),
                std::string(object.architecture().name).c_str(), listing.places[n],
                kernel_before(object, begin + listing.places[n]).c_str());
  }
}

int look(int files, char** paths) {
  Findings findings;
  for (int n = 0; n < files; ++n)
    if (!for_each_code_object(
            paths[n], [&](const CodeObject& object) { look_through(paths[n], object, findings); }))
      return 1;
  for (const auto& [name, times] : findings.unknown)
    std::printf("not known: %s (%zu times)\n", name.c_str(), times);
  std::printf("%zu instructions, of which %zu kinds are not known, and no lane executes %zu\n",
              findings.instructions, findings.unknown.size(), findings.idle);
  return findings.unknown.empty() && findings.idle == 0 && findings.instructions > 0 ? 0 : 1;
}

}  // namespace
}  // namespace amd_gpu

int main(int arguments, char** argument) { return amd_gpu::look(arguments - 1, argument + 1); }
