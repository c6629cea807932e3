// SPDX-License-Identifier: Apache-2.0
// Small assembly programs for the tests of instructions: assembled by the compiler that hipcc uses,
// loaded as a kernel's code is, run on one wave.
// Invariant: before, a is in v[0:1] and s[0:1], b in v[2:3] and s[2:3], c in v[4:5] and s[4:5]. The
// result is in v[6:7], s[6:7], vcc or scc afterwards.
#pragma once

#include <string>
#include <vector>

#include "code_object.hpp"
#include "wave.hpp"

namespace amd_gpu {

class Assembled {
 public:
  // Each program is one or more lines; s_endpgm is added.
  explicit Assembled(const std::vector<std::string>& programs,
                     const Architecture& architecture = kArchitectures[0]);
  // Whether the assembler for such GPUs is installed.
  static bool is_possible_for(const Architecture& architecture);

  const CodeObject& code() const { return *code_; }
  // Lets the wave, as it is, begin program `n`.
  void start(std::size_t n, Wave& wave) const;
  // Runs program `n` to its end.
  void run(std::size_t n, Wave& wave) const;

 private:
  std::unique_ptr<CodeObject> code_;
};

// A wave with LDS and scratch, whose lanes are all active and whose registers are 0.
class TestWave {
 public:
  TestWave();
  Wave& operator*() { return *wave_; }
  Wave* operator->() { return wave_.get(); }
  void use(WeakMemory& memory) { block_.weak = &memory; }
  void set_vector(unsigned first, unsigned lane, std::uint64_t value);
  std::uint64_t vector(unsigned first, unsigned lane) const;

 private:
  std::vector<std::uint8_t> local_ = std::vector<std::uint8_t>(64 * 1024);
  std::vector<std::uint32_t> scratch_ = std::vector<std::uint32_t>(kLanes * 64);
  BlockContext block_{};
  std::unique_ptr<Wave> wave_ = std::make_unique<Wave>();
};

}  // namespace amd_gpu
