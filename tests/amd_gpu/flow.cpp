// SPDX-License-Identifier: Apache-2.0
// Branches, calls, waits, barriers, ends, and registers of the hardware (SOPP, parts of SOP1 and
// SOPK); scalar loads. CDNA2 ISA, "Program control" and "Scalar memory".
// Invariant: pc is that of the next instruction when an instruction is executed.
#include <time.h>

#include <atomic>

#include "operands.hpp"
#include "weak_memory.hpp"

namespace amd_gpu {
namespace {

template <auto kCondition>
void branch(Wave& w, const Instruction& i) {
  const auto words = static_cast<std::int16_t>(i.operand[0].value);
  if (kCondition(w)) w.pc += static_cast<std::uint64_t>(std::int64_t{words} * 4);
}

void get_pc(Wave& w, const Instruction& i) { write_scalar_wide(w, i.operand[0], w.pc); }
void set_pc(Wave& w, const Instruction& i) { w.pc = read_scalar_wide(w, i.operand[0]); }
void swap_pc(Wave& w, const Instruction& i) {
  const std::uint64_t target = read_scalar_wide(w, i.operand[1]);
  write_scalar_wide(w, i.operand[0], w.pc);
  w.pc = target;
}

void do_nothing(Wave&, const Instruction&) {}
void end_program(Wave& w, const Instruction&) { w.state = WaveState::kEnded; }
void meet_at_barrier(Wave& w, const Instruction&) { w.state = WaveState::kAtBarrier; }
void sleep(Wave& w, const Instruction&) { w.state = WaveState::kSleeping; }

// Later loads must not pass stores that have been waited for. On a processor that delays stores
// behind loads this takes a fence.
void wait_for_memory(Wave& w, const Instruction& i) {
  if (!w.has_stored || i.most_outstanding == 0xff) return;
  if (w.block->weak != nullptr) {
    if (w.memory_issue <= i.most_outstanding) return;
    w.block->weak->wait(w.number, w.memory_issue - i.most_outstanding);
  }
  if (i.most_outstanding != 0) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  w.has_stored = false;
}

// The traps that compilers emit: 2 ends the program, 3 is for debuggers (LLVM's AMDGPU usage,
// "Trap Handler ABI").
void trap(Wave& w, const Instruction& i) {
  if (i.operand[0].value != 3) fail(w, "trap");
}

constexpr unsigned kModeRegister = 1, kHardwareId = 4, kMemoryBases = 15;

std::uint32_t hardware_register(const Wave& w, const Instruction& i) {
  switch (i.hwreg_id) {
    case kModeRegister:
      return w.mode;
    case kHardwareId:
      return w.number;
    case kMemoryBases:  // scratch below, LDS above
      return static_cast<std::uint32_t>(kPrivateAperture >> 48 | kSharedAperture >> 48 << 16);
    default:
      fail(w, "a register of the hardware is not known");
  }
}
std::uint32_t mask_of(const Instruction& i) {
  return i.hwreg_bits >= 32 ? ~0u : (1u << i.hwreg_bits) - 1;
}
void get_register(Wave& w, const Instruction& i) {
  write_scalar(w, i.operand[0], hardware_register(w, i) >> i.hwreg_first & mask_of(i));
}
void set_register(Wave& w, const Instruction& i) {
  if (i.hwreg_id != kModeRegister) fail(w, "this register of the hardware cannot be set");
  const std::uint32_t mask = mask_of(i) << i.hwreg_first;
  w.mode = (w.mode & ~mask) | (read_scalar(w, i.operand[0]) << i.hwreg_first & mask);
}

template <unsigned kWords>
void load(Wave& w, const Instruction& i) {
  const Operand& offset = i.operand[2];
  std::uint64_t address = read_scalar_wide(w, i.operand[1]);
  address += offset.kind == Kind::kConstant ? offset.value : read_scalar(w, offset);
  address += static_cast<std::uint64_t>(std::int64_t{i.offset});
  const auto* source = reinterpret_cast<const std::uint32_t*>(address & ~std::uint64_t{3});
  const unsigned first = i.operand[0].first;
  WeakMemory* const weak = w.block->weak;
  for (unsigned n = 0; n < kWords; ++n)
    w.scalar[first + n] = weak == nullptr
                              ? __atomic_load_n(source + n, __ATOMIC_RELAXED)
                              : weak->load_scalar(reinterpret_cast<std::uintptr_t>(source + n));
}

void read_clock(Wave& w, const Instruction& i) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  write_scalar_wide(w, i.operand[0],
                    static_cast<std::uint64_t>(now.tv_sec) * 100'000'000 +
                        static_cast<std::uint64_t>(now.tv_nsec) / 10);
}

}  // namespace

void add_flow_instructions(InstructionTable& t) {
  t["s_branch"] = branch<[](const Wave&) { return true; }>;
  t["s_cbranch_scc0"] = branch<[](const Wave& w) { return !w.scc; }>;
  t["s_cbranch_scc1"] = branch<[](const Wave& w) { return w.scc; }>;
  t["s_cbranch_vccz"] = branch<[](const Wave& w) { return w.pair(kVcc) == 0; }>;
  t["s_cbranch_vccnz"] = branch<[](const Wave& w) { return w.pair(kVcc) != 0; }>;
  t["s_cbranch_execz"] = branch<[](const Wave& w) { return w.exec() == 0; }>;
  t["s_cbranch_execnz"] = branch<[](const Wave& w) { return w.exec() != 0; }>;
  t["s_getpc_b64"] = get_pc;
  t["s_setpc_b64"] = set_pc;
  t["s_swappc_b64"] = swap_pc;
  t["s_endpgm"] = end_program;
  t["s_barrier"] = meet_at_barrier;
  t["s_sleep"] = sleep;
  t["s_trap"] = trap;
  t["s_waitcnt"] = wait_for_memory;
  for (const char* name :
       {"s_nop", "s_setprio", "s_sethalt", "s_inst_prefetch", "s_icache_inv", "s_wakeup",
        "s_incperflevel", "s_decperflevel", "s_ttracedata", "v_nop", "s_sendmsg"})
    t[name] = do_nothing;
  t["s_getreg_b32"] = get_register;
  t["s_setreg_b32"] = set_register;
  t["s_setreg_imm32_b32"] = set_register;
}

void add_scalar_memory_instructions(InstructionTable& t) {
  t["s_load_dword"] = load<1>;
  t["s_load_dwordx2"] = load<2>;
  t["s_load_dwordx4"] = load<4>;
  t["s_load_dwordx8"] = load<8>;
  t["s_load_dwordx16"] = load<16>;
  t["s_memtime"] = read_clock;
  t["s_memrealtime"] = read_clock;
}

}  // namespace amd_gpu
