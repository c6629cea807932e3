// SPDX-License-Identifier: Apache-2.0
// See assembled.hpp.
#include "assembled.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace amd_gpu {
namespace {

constexpr std::uint32_t kModeOfKernels = 0xf0;  // round to nearest, keep denormals

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

// Programs are found by their symbols; a symbol of the dynamic table has to be protected.
std::string source_of(const std::vector<std::string>& programs) {
  std::string text = ".text\n";
  for (std::size_t n = 0; n < programs.size(); ++n) {
    const std::string name = "p" + std::to_string(n);
    text += ".globl " + name + "\n.protected " + name + "\n.p2align 8\n" + name + ":\n" +
            programs[n] + "\ns_endpgm\n";
  }
  return text;
}

const char* assembler_of(const Architecture& architecture) {
  return architecture.has_scopes ? MESHMEM_AMD_NEWER_CLANG : MESHMEM_AMD_CLANG;
}

}  // namespace

bool Assembled::is_possible_for(const Architecture& architecture) {
  return *assembler_of(architecture) == '/';
}

Assembled::Assembled(const std::vector<std::string>& programs, const Architecture& architecture) {
  char folder[] = "/tmp/amd_gpu_XXXXXX";
  if (mkdtemp(folder) == nullptr) give_up("no folder in /tmp");
  const std::string source = std::string(folder) + "/p.s", made = std::string(folder) + "/p.co";
  std::ofstream(source) << source_of(programs);
  const std::string command =
      std::string(assembler_of(architecture)) +
      " -x assembler -target amdgcn-amd-amdhsa -mcpu=" + std::string(architecture.name) + " " +
      source + " -o " + made;
  const int status = std::system(command.c_str());
  std::ifstream file(made, std::ios::binary);
  const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove_all(folder);
  if (status != 0) give_up("the assembler failed: " + command);
  std::string why;
  code_ = CodeObject::load(bytes, why);
  if (code_ == nullptr) give_up("the code cannot be loaded: " + why);
}

void Assembled::start(std::size_t n, Wave& wave) const {
  wave.code = code_.get();
  wave.pc = reinterpret_cast<std::uint64_t>(code_->variable("p" + std::to_string(n)));
  wave.state = WaveState::kReady;
  if (wave.pc == 0) give_up("program " + std::to_string(n) + " is missing");
}

void Assembled::run(std::size_t n, Wave& wave) const {
  start(n, wave);
  run_wave(wave, 10000);
  if (wave.state != WaveState::kEnded) give_up("program " + std::to_string(n) + " does not end");
}

TestWave::TestWave() {
  block_ = {
      local_.data(), static_cast<std::uint32_t>(local_.size()), {0, 0, 0}, "(a test)", nullptr};
  wave_->scalar.fill(0);
  for (auto& lanes : wave_->vector) lanes.fill(0);
  wave_->set_pair(kExec, ~0ull);
  wave_->scc = wave_->has_stored = false;
  wave_->memory_issue = 0;
  wave_->mode = kModeOfKernels;
  wave_->number = 0;
  wave_->block = &block_;
  wave_->scratch = reinterpret_cast<std::uint8_t*>(scratch_.data());
  wave_->scratch_size = 4 * scratch_.size() / kLanes;
  wave_->current = nullptr;
}

void TestWave::set_vector(unsigned first, unsigned lane, std::uint64_t value) {
  wave_->vector[first][lane] = static_cast<std::uint32_t>(value);
  wave_->vector[first + 1][lane] = static_cast<std::uint32_t>(value >> 32);
}
std::uint64_t TestWave::vector(unsigned first, unsigned lane) const {
  return std::uint64_t{wave_->vector[first + 1][lane]} << 32 | wave_->vector[first][lane];
}

}  // namespace amd_gpu
