// SPDX-License-Identifier: Apache-2.0
//
// The locks of PEs: a queue of those that want one, kept in the lock itself. The program's
// symmetric `long` is eight bytes in every PE. PE 0's copy holds the queue's tail, and each PE's
// own copy that PE's place in the queue: whether it waits or holds, and who comes next. Each PE
// waits on its own copy, and a release touches that of the next PE alone.
// Invariant: a lock that nobody wants is 0 in all PEs, so locks are never created or freed, and a
// PE may hold or wait for any number of them. Called by api/; unit tests have PEs that are threads.
#ifndef MESHMEM_CORE_LOCK_HPP_
#define MESHMEM_CORE_LOCK_HPP_

#include <cstdint>
#include <string>

#include "device/operations.hpp"
#include "memory/address_map.hpp"

namespace meshmem {

// One lock, as one call sees it. Refuses an address that is no symmetric host memory.
class Lock {
 public:
  Lock(const AddressMap& map, long* lock, const char* routine);

  // Returns when this PE holds the lock. PEs get it in the order of their calls.
  void acquire();
  // True if nobody had the lock, and this PE holds it now.
  bool try_acquire();
  // Ends the job if this PE does not hold the lock. Stores that the next holder must see are
  // complete before release().
  void require_held();
  void release();

 private:
  struct Words;
  enum class Half { tail, place };

  // Returns PE `pe`'s copy of the lock, or nullptr for a far PE.
  Words* words_of(int pe) const;
  // Does the operation on a half of PE `pe`'s copy, near or far, and returns the value before.
  std::uint32_t change(int pe, Half half, device::AtomicOp op, std::uint32_t operand,
                       std::uint32_t condition = 0) const;
  std::uint32_t place_of(int pe) const;
  std::uint32_t swap_tail(std::uint32_t number) const;
  bool replace_tail(std::uint32_t expected, std::uint32_t desired) const;
  void add_to_place(int pe, std::uint32_t bits) const;
  void hold();
  std::string text() const;
  std::string holder_text() const;  // at this moment
  [[noreturn, gnu::cold, gnu::noinline]] void refuse_second() const;

  const AddressMap& map_;
  long* lock_;
  const char* routine_;
  std::uint32_t my_number_;  // PE + 1: 0 is nobody
  Words* mine_;
  Words* home_;  // PE 0's, null if PE 0 is far
};

}  // namespace meshmem

#endif  // MESHMEM_CORE_LOCK_HPP_
