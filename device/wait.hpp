// SPDX-License-Identifier: Apache-2.0
//
// Point-to-point synchronization in kernels (OpenSHMEM 1.6, section 9.11), and signals that are
// waited for.
// Invariant: the value that the leader of a group sees decides; after a wait all of the group have
// acquired the writer's earlier released stores. A wait polls memory of this PE, and lets others
// run between two polls.
#ifndef MESHMEM_DEVICE_WAIT_HPP_
#define MESHMEM_DEVICE_WAIT_HPP_

#include "device/comparison.hpp"
#include "device/module.hpp"
#include "device/poll.hpp"

namespace meshmem {
namespace device {

template <typename E>
MESHMEM_DEVICE bool holds(E value, int cmp, E wanted) {
  if (!is_comparison(cmp)) refuse_comparison(cmp);
  return compare(value, cmp, wanted);
}

// One value in place of an array: ivars are compared with one value, or with one value each.
template <typename E>
struct OneValue {
  E value;
  MESHMEM_DEVICE_MEMBER E operator[](std::size_t) const { return value; }
};

// The ivars that take part: those whose status is 0.
struct Chosen {
  const int* status;
  MESHMEM_DEVICE_MEMBER bool operator()(std::size_t i) const { return !status || status[i] == 0; }
};

constexpr std::size_t kNone = SIZE_MAX;

template <typename E, typename Values>
MESHMEM_DEVICE bool all_hold(const E* ivars, std::size_t nelems, Chosen chosen, int cmp,
                             Values wanted) {
  for (std::size_t i = 0; i < nelems; ++i)
    if (chosen(i) && !holds(load_relaxed(ivars + i), cmp, wanted[i])) return false;
  return true;
}

// A search begins at a random ivar, so that one that is always ready does not hide the others.
MESHMEM_DEVICE std::size_t search_start(std::size_t nelems) {
  return nelems < 2 ? 0 : static_cast<std::size_t>(clock64()) % nelems;
}

// Searches all ivars once; kNone if none holds. `empty`: none takes part.
template <typename E, typename Values>
MESHMEM_DEVICE std::size_t find_one(const E* ivars, std::size_t nelems, Chosen chosen, int cmp,
                                    Values wanted, bool& empty) {
  empty = true;
  const std::size_t start = search_start(nelems);
  for (std::size_t k = 0; k < nelems; ++k) {
    const std::size_t i = start + k < nelems ? start + k : start + k - nelems;
    if (!chosen(i)) continue;
    empty = false;
    if (holds(load_relaxed(ivars + i), cmp, wanted[i])) return i;
  }
  return kNone;
}

template <typename E, typename Values>
MESHMEM_DEVICE std::size_t find_some(const E* ivars, std::size_t nelems, std::size_t* indices,
                                     Chosen chosen, int cmp, Values wanted, bool& empty) {
  empty = true;
  std::size_t found = 0;
  for (std::size_t i = 0; i < nelems; ++i) {
    if (!chosen(i)) continue;
    empty = false;
    if (holds(load_relaxed(ivars + i), cmp, wanted[i])) indices[found++] = i;
  }
  return found;
}

// Returns when the leader's ready() is true. Then all of the group may use the writers' data.
template <typename Group, typename Ready, typename Find>
MESHMEM_DEVICE void poll_until(const Group& group, const Ready& ready, const Find& find) {
  poll_and_acquire(group, ready, find);
  acquire_all(group);
}

// The leader calls poll(result) until it returns true. All of the group get `result`, and may use
// the writers' data. `ivars` is the address that a table of waits shows.
template <typename T, typename Group, typename Poll>
MESHMEM_DEVICE T poll_for(const Group& group, Poll poll, const void* ivars) {
  T result = T();
  if (group.rank() == 0) {
    pause_until([&] { return poll(result); }, [=] { return ivars; });
    acquire_mine();
  }
  return acquire_shared(group, result);
}

template <typename E, typename Group>
MESHMEM_DEVICE void wait_until(const Group& group, E* ivar, int cmp, E cmp_value) {
  check_symmetric_word(ivar);
  poll_until(
      group, [=] { return holds(load_relaxed(ivar), cmp, cmp_value); }, [=] { return ivar; });
}

// ---- The routines of shmem/ops.h. Those for vectors of values also serve those for one value.

template <typename E, typename Group, typename Values>
MESHMEM_DEVICE void wait_until_all_vector(const Group& group, E* ivars, std::size_t nelems,
                                          const int* status, int cmp, Values cmp_values) {
  const Chosen chosen{status};
  if (nelems > 0) check_symmetric_word(ivars);
  poll_until(
      group, [=] { return all_hold(ivars, nelems, chosen, cmp, cmp_values); },
      [=] {  // one of those that do not hold yet
        std::size_t i = 0;
        while (i + 1 < nelems && (!chosen(i) || holds(load_relaxed(ivars + i), cmp, cmp_values[i])))
          ++i;
        return ivars + i;
      });
}
template <typename E, typename Group, typename Values>
MESHMEM_DEVICE std::size_t wait_until_any_vector(const Group& group, E* ivars, std::size_t nelems,
                                                 const int* status, int cmp, Values cmp_values) {
  if (nelems > 0) check_symmetric_word(ivars);
  return poll_for<std::size_t>(
      group,
      [=](std::size_t& found) {
        bool empty = false;
        found = find_one(ivars, nelems, Chosen{status}, cmp, cmp_values, empty);
        return found != kNone || empty;
      },
      ivars);
}
template <typename E, typename Group, typename Values>
MESHMEM_DEVICE std::size_t wait_until_some_vector(const Group& group, E* ivars, std::size_t nelems,
                                                  std::size_t* indices, const int* status, int cmp,
                                                  Values cmp_values) {
  if (nelems > 0) check_symmetric_word(ivars);
  return poll_for<std::size_t>(
      group,
      [=](std::size_t& found) {
        bool empty = false;
        found = find_some(ivars, nelems, indices, Chosen{status}, cmp, cmp_values, empty);
        return found != 0 || empty;
      },
      ivars);
}
template <typename E, typename Group>
MESHMEM_DEVICE void wait_until_all(const Group& group, E* ivars, std::size_t nelems,
                                   const int* status, int cmp, E cmp_value) {
  wait_until_all_vector(group, ivars, nelems, status, cmp, OneValue<E>{cmp_value});
}
template <typename E, typename Group>
MESHMEM_DEVICE std::size_t wait_until_any(const Group& group, E* ivars, std::size_t nelems,
                                          const int* status, int cmp, E cmp_value) {
  return wait_until_any_vector(group, ivars, nelems, status, cmp, OneValue<E>{cmp_value});
}
template <typename E, typename Group>
MESHMEM_DEVICE std::size_t wait_until_some(const Group& group, E* ivars, std::size_t nelems,
                                           std::size_t* indices, const int* status, int cmp,
                                           E cmp_value) {
  return wait_until_some_vector(group, ivars, nelems, indices, status, cmp, OneValue<E>{cmp_value});
}

// One thread calls a test. A test that fails pauses, since programs call it in a loop.
MESHMEM_DEVICE void after_test(bool succeeded) {
  if (succeeded) {
    acquire_mine();
    acquire_all(Thread());
  } else {
    pause();
  }
}
template <typename E>
MESHMEM_DEVICE int test(E* ivar, int cmp, E cmp_value) {
  check_symmetric_word(ivar);
  const bool yes = holds(load_relaxed(ivar), cmp, cmp_value);
  after_test(yes);
  return yes ? 1 : 0;
}
template <typename E, typename Values>
MESHMEM_DEVICE int test_all_vector(E* ivars, std::size_t nelems, const int* status, int cmp,
                                   Values cmp_values) {
  if (nelems > 0) check_symmetric_word(ivars);
  const bool yes = all_hold(ivars, nelems, Chosen{status}, cmp, cmp_values);
  after_test(yes);
  return yes ? 1 : 0;
}
template <typename E, typename Values>
MESHMEM_DEVICE std::size_t test_any_vector(E* ivars, std::size_t nelems, const int* status, int cmp,
                                           Values cmp_values) {
  if (nelems > 0) check_symmetric_word(ivars);
  bool empty = false;
  const std::size_t found = find_one(ivars, nelems, Chosen{status}, cmp, cmp_values, empty);
  after_test(found != kNone);
  return found;
}
template <typename E, typename Values>
MESHMEM_DEVICE std::size_t test_some_vector(E* ivars, std::size_t nelems, std::size_t* indices,
                                            const int* status, int cmp, Values cmp_values) {
  if (nelems > 0) check_symmetric_word(ivars);
  bool empty = false;
  const std::size_t found =
      find_some(ivars, nelems, indices, Chosen{status}, cmp, cmp_values, empty);
  after_test(found != 0);
  return found;
}
template <typename E>
MESHMEM_DEVICE int test_all(E* ivars, std::size_t nelems, const int* status, int cmp, E cmp_value) {
  return test_all_vector(ivars, nelems, status, cmp, OneValue<E>{cmp_value});
}
template <typename E>
MESHMEM_DEVICE std::size_t test_any(E* ivars, std::size_t nelems, const int* status, int cmp,
                                    E cmp_value) {
  return test_any_vector(ivars, nelems, status, cmp, OneValue<E>{cmp_value});
}
template <typename E>
MESHMEM_DEVICE std::size_t test_some(E* ivars, std::size_t nelems, std::size_t* indices,
                                     const int* status, int cmp, E cmp_value) {
  return test_some_vector(ivars, nelems, indices, status, cmp, OneValue<E>{cmp_value});
}

MESHMEM_DEVICE std::uint64_t signal_fetch(const std::uint64_t* sig_addr) {
  check_symmetric_word(sig_addr);
  const std::uint64_t value = load_relaxed(sig_addr);
  acquire_mine();
  acquire_all(Thread());
  return value;
}
template <typename Group>
MESHMEM_DEVICE std::uint64_t signal_wait_until(const Group& group, std::uint64_t* sig_addr, int cmp,
                                               std::uint64_t cmp_value) {
  check_symmetric_word(sig_addr);
  std::uint64_t value = 0;
  poll_and_acquire(
      group,
      [&] {
        value = load_relaxed(sig_addr);
        return holds(value, cmp, cmp_value);
      },
      [=] { return sig_addr; });
  return acquire_shared(group, value);
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_WAIT_HPP_
