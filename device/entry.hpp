// SPDX-License-Identifier: Apache-2.0
//
// Which routine a kernel's thread has called, and in which file and line of the program. Lines
// about mistakes say both (module.hpp).
// Invariant: each routine holds an Entry while it runs. The outermost one is the program's call.
// Without checks kernels have no code of this, and routines have no parameter for it. Used by the
// routines in shmem/device.hpp, shmem/generic.h and meshmem/compat, through MESHMEM_ROUTINE.
#ifndef MESHMEM_DEVICE_ENTRY_HPP_
#define MESHMEM_DEVICE_ENTRY_HPP_

#include "device/group.hpp"
#include "shmem/ops.h"

#if MESHMEM_KERNEL_CHECKS

namespace meshmem {
namespace device {

struct Place {
  const char* file;
  int line;
};
// As a default argument this is the place of the call.
MESHMEM_HOST_DEVICE constexpr Place here(const char* file = __builtin_FILE(),
                                         int line = __builtin_LINE()) {
  return {file, line};
}

// The calling thread's outermost Entry, or null.
class Entry;
#if defined(MESHMEM_TARGET_IS_CPU)
MESHMEM_DEVICE const Entry* current_entry() {
  return hip_on_cpu::in_kernel() ? static_cast<const Entry*>(hip_on_cpu::current_thread->entry)
                                 : nullptr;
}
MESHMEM_DEVICE void set_entry(const Entry* entry) { hip_on_cpu::current_thread->entry = entry; }
#else
// A block has a word for each thread, in shared memory, which holds anything when a kernel begins.
// So a word that names an Entry has the lower half of the Entry's address, and a hash of it. The
// upper half is that of every address on the thread's stack.
MESHMEM_DEVICE std::uint64_t& entry_word() {
  __shared__ std::uint64_t words[1024];
  return words[thread_in_block()];
}
MESHMEM_DEVICE std::uint64_t word_of(std::uint32_t address) {
  return std::uint64_t{address * 0x9e3779b1 ^ 0x6d657368} << 32 | address;
}
MESHMEM_DEVICE const Entry* current_entry() {
  const std::uint64_t word = entry_word();
  const auto address = static_cast<std::uint32_t>(word);
  if (word != word_of(address)) return nullptr;
  const auto on_stack = reinterpret_cast<std::uintptr_t>(&address);
  const auto apart = static_cast<std::int32_t>(address - static_cast<std::uint32_t>(on_stack));
  return reinterpret_cast<const Entry*>(on_stack + static_cast<std::uintptr_t>(apart));
}
MESHMEM_DEVICE void set_entry(const Entry* entry) {
  const auto address = reinterpret_cast<std::uintptr_t>(entry);
  entry_word() = entry ? word_of(static_cast<std::uint32_t>(address)) : 0;
}
#endif

class Entry {
 public:
  MESHMEM_HOST_DEVICE_MEMBER Entry(const char* routine, Place place)
      : routine_(routine), place_(place) {
    MESHMEM_DISPATCH(enter(), (void)0);
  }
  MESHMEM_HOST_DEVICE_MEMBER ~Entry() {
    MESHMEM_DISPATCH(if (is_outermost_) set_entry(nullptr), (void)0);
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  MESHMEM_DEVICE_MEMBER const char* routine() const { return routine_; }
  // Without its folder.
  MESHMEM_DEVICE_MEMBER const char* file() const {
    const char* name = place_.file;
    for (const char* at = name; *at != 0; ++at)
      if (*at == '/') name = at + 1;
    return name;
  }
  MESHMEM_DEVICE_MEMBER int line() const { return place_.line; }  // 0 if it is not known

  // A wait of this call calls these: the first at each poll, with the time, which on another
  // processor of the GPU may be a little earlier.
  MESHMEM_DEVICE_MEMBER bool has_waited_for(std::uint64_t ticks, std::uint64_t now) const {
    if (waits_since_ == 0) waits_since_ = now;
    return static_cast<std::int64_t>(now - waits_since_) > static_cast<std::int64_t>(ticks);
  }
  MESHMEM_DEVICE_MEMBER void end_wait() const { waits_since_ = 0; }

 private:
  MESHMEM_DEVICE_MEMBER void enter() {
    is_outermost_ = current_entry() == nullptr;
    if (is_outermost_) set_entry(this);
  }

  const char* routine_;
  Place place_;
  bool is_outermost_ = false;
  mutable std::uint64_t waits_since_ = 0;  // 0: it does not wait
};

}  // namespace device
}  // namespace meshmem

// MESHMEM_PLACED (a, b) is (a, b, Place). MESHMEM_PLACED (void) and MESHMEM_PLACED () are (Place):
// the first word of these, with () behind it, makes the name of a macro.
#define MESHMEM_PLACED(...) MESHMEM_PLACED_BY(__VA_ARGS__, )(__VA_ARGS__)
#define MESHMEM_PLACED_BY(first, ...) \
  MESHMEM_PLACED_PICK(MESHMEM_NONE_##first(), MESHMEM_PLACE_AFTER, )
#define MESHMEM_PLACED_PICK(...) MESHMEM_PLACED_SECOND(__VA_ARGS__)
#define MESHMEM_PLACED_SECOND(first, second, ...) second
#define MESHMEM_NONE_() , MESHMEM_PLACE_ALONE
#define MESHMEM_NONE_void() , MESHMEM_PLACE_ALONE
#define MESHMEM_PLACE_ALONE(...) (meshmem::device::Place place = meshmem::device::here())
#define MESHMEM_PLACE_AFTER(...) \
  (__VA_ARGS__, meshmem::device::Place place = meshmem::device::here())

// A routine, and one without the place for its address. No call chooses the latter, since only a
// pointer's type tells what its result is.
#undef MESHMEM_ROUTINE
#define MESHMEM_ROUTINE(sides, result, name, params, ...)       \
  sides result name MESHMEM_PLACED params {                     \
    const meshmem::device::Entry meshmem_entry(#name, place);   \
    __VA_ARGS__                                                 \
  }                                                             \
  template <typename Result>                                    \
  sides Result name params {                                    \
    const meshmem::device::Entry meshmem_entry(#name, {"", 0}); \
    __VA_ARGS__                                                 \
  }

#endif

#endif  // MESHMEM_DEVICE_ENTRY_HPP_
