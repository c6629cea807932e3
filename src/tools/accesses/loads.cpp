// SPDX-License-Identifier: Apache-2.0
//
// The functions that compilers call before each load and store of a program that they instrument
// for ThreadSanitizer (-fsanitize=thread). They replace ThreadSanitizer's runtime.
// Invariant: the names and arguments are those of GCC and clang. Each program contains this file
// (libmeshmem_loads.a), since calls of a shared library take longer. libmeshmem_accesses.so has it,
// too, for code that was linked without `oshcc --races`.
#include "base/hooks/ledger.hpp"
#include "tools/accesses/hooks.hpp"

// In programs these functions are hidden.
#ifdef MESHMEM_IN_PROGRAM
#define HOOK extern "C"
#else
#define HOOK VISIBLE
#endif

namespace meshmem::accesses {
namespace {

constinit thread_local Ledger* ledger = nullptr;  // if this thread may write it

[[gnu::noinline]] void tell(const AccessHooks* set, void* at, std::size_t bytes, AccessKind kind,
                            const void* caller) {
  Ledger* const here = set->note(at, bytes, kind, caller);
  ledger = here && here->layout == Ledger::kLayout ? here : nullptr;
}

template <std::size_t kBytes, AccessKind kKind>
[[gnu::always_inline]] inline void look(void* at, const void* caller) {
  constexpr bool kIsPlain = kKind == AccessKind::load || kKind == AccessKind::store;
  if constexpr (kIsPlain) {
    if (ledger && ledger->passes<kBytes, kKind == AccessKind::store>(
                      reinterpret_cast<std::uintptr_t>(at), caller)) [[likely]]
      return;
  }
  if (const AccessHooks* set = hooks.load(std::memory_order_acquire)) [[unlikely]]
    tell(set, at, kBytes, kKind, caller);
}

}  // namespace
}  // namespace meshmem::accesses

using meshmem::AccessKind;
using meshmem::accesses::look;

#define ACCESS(name, bytes, kind) \
  HOOK void name##bytes(void* at) { look<bytes, AccessKind::kind>(at, CALLER); }
#define ACCESSES(prefix, bytes)                       \
  ACCESS(prefix##read, bytes, load)                   \
  ACCESS(prefix##write, bytes, store)                 \
  ACCESS(prefix##read_write, bytes, store)            \
  ACCESS(prefix##volatile_read, bytes, volatile_load) \
  ACCESS(prefix##volatile_write, bytes, volatile_store)
ACCESSES(__tsan_, 1)
ACCESSES(__tsan_, 2)
ACCESSES(__tsan_, 4)
ACCESSES(__tsan_, 8)
ACCESSES(__tsan_, 16)
ACCESSES(__tsan_unaligned_, 2)
ACCESSES(__tsan_unaligned_, 4)
ACCESSES(__tsan_unaligned_, 8)
ACCESSES(__tsan_unaligned_, 16)
#undef ACCESSES
#undef ACCESS
