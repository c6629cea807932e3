// SPDX-License-Identifier: Apache-2.0
//
// Puts, gets and signals of a group of threads (OpenSHMEM 1.6, sections 9.6 and 9.8). They are
// stores and loads through the mapping of the peer, or commands to the proxy where there is no
// mapping.
// Invariant: a put has been issued, not completed, when it returns: its data arrives in no order
// until fence, quiet or a signal. Every thread of the group calls. The names are those of the rows
// of shmem/ops.h; shmem/device.hpp reads them.
#ifndef MESHMEM_DEVICE_RMA_HPP_
#define MESHMEM_DEVICE_RMA_HPP_

#include "device/copy.hpp"
#include "device/module.hpp"
#include "device/proxy.hpp"
#include "device/teams.hpp"

namespace meshmem {
namespace device {

// Not inlined: a kernel with an inlined put and a quiet needed more than the 64 registers that a
// thread of a block of 1,024 may have. waits: the caller may use the source again on return; for
// near PEs it always may.
template <typename Group>
MESHMEM_DEVICE_APART void put_any(Group group, void* dest, const void* source, std::size_t bytes,
                                  int world_pe, bool waits) {
  void* there = nullptr;
  if (!find_near(&there, dest, world_pe)) there = find_rare(dest, world_pe);
  if (there) return copy<OwnSource>(group, there, source, bytes);
  by_leader(group, [=] { far_put(dest, source, bytes, world_pe, waits); });
}
template <typename Group>
MESHMEM_DEVICE_APART void get_bytes(Group group, void* dest, const void* source, std::size_t bytes,
                                    int world_pe) {
  void* there = nullptr;
  if (!find_near(&there, source, world_pe)) there = find_rare(source, world_pe);
  if (there) return copy<OthersSource>(group, dest, there, bytes);
  by_leader(group, [=] { far_get(dest, source, bytes, world_pe); });
}

// Puts at most 16 bytes for each thread of a wave or block, to a near PE. False: it is another put,
// for put_any(), whose call takes a block of 1,024 threads 0.1 us. An inlined get would take more
// than those 64 registers, and saves little beside the way to the other PE and back.
#if defined(MESHMEM_TARGET_IS_CUDA)
template <typename Group>
MESHMEM_DEVICE bool put_short(const Group& group, void* dest, const void* source, std::size_t bytes,
                              int world_pe) {
  const auto all =
      reinterpret_cast<std::uintptr_t>(dest) | reinterpret_cast<std::uintptr_t>(source) | bytes;
  Bits128* there = nullptr;
  if (std::is_same<Group, Thread>::value || all % sizeof(Bits128) != 0 ||
      bytes > static_cast<unsigned>(group.size()) * sizeof(Bits128) ||
      !find_near(&there, static_cast<Bits128*>(dest), world_pe))
    return false;
  const auto rank = static_cast<std::size_t>(group.rank());
  if (rank < bytes / sizeof(Bits128))
    store_plain(there + rank, load_plain(static_cast<const Bits128*>(source) + rank));
  return true;
}
#else
template <typename Group>
MESHMEM_DEVICE bool put_short(const Group&, void*, const void*, std::size_t, int) {
  return false;  // these compilers inline put_any() where that is good
}
#endif
template <typename Group>
MESHMEM_DEVICE void put_bytes(const Group& group, void* dest, const void* source, std::size_t bytes,
                              int world_pe, bool waits) {
  if (!put_short(group, dest, source, bytes, world_pe))
    put_any(group, dest, source, bytes, world_pe, waits);
}
template <typename E, typename Group, typename Pes>
MESHMEM_DEVICE void put(const Group& group, Pes pes, void* dest, const void* source,
                        std::size_t nelems, int pe) {
  if (nelems == 0) return;
  check_count(sizeof(E), nelems);
  put_bytes(group, dest, source, nelems * sizeof(E), pes.world_pe(pe), true);
}
template <typename E, typename Group, typename Pes>
MESHMEM_DEVICE void get(const Group& group, Pes pes, void* dest, const void* source,
                        std::size_t nelems, int pe) {
  if (nelems == 0) return;
  check_count(sizeof(E), nelems);
  before_get();
  get_bytes(group, dest, source, nelems * sizeof(E), pes.world_pe(pe));
}
// A store is as nonblocking as it gets; a load is complete when it returns, which nbi forms may be.
template <typename E, typename Group, typename Pes>
MESHMEM_DEVICE void put_nbi(const Group& group, Pes pes, void* dest, const void* source,
                            std::size_t nelems, int pe) {
  if (nelems == 0) return;
  check_count(sizeof(E), nelems);
  put_bytes(group, dest, source, nelems * sizeof(E), pes.world_pe(pe), false);
}
template <typename E, typename Group, typename Pes>
MESHMEM_DEVICE void get_nbi(const Group& group, Pes pes, void* dest, const void* source,
                            std::size_t nelems, int pe) {
  get<E>(group, pes, dest, source, nelems, pe);
}

template <typename B>
MESHMEM_DEVICE_APART void p_rare(B* dest, B value, int world_pe) {
  auto* const there = reinterpret_cast<B*>(find_rare(dest, world_pe));
  if (there) return store_relaxed(there, value);
  far_store_value(dest, value, sizeof(B), world_pe);
}
template <typename B>
MESHMEM_DEVICE_APART B g_rare(const B* source, int world_pe) {
  const auto* const there = reinterpret_cast<const B*>(find_rare(source, world_pe));
  if (there) return load_relaxed(there);
  return static_cast<B>(far_load(source, sizeof(B), world_pe));
}

// Elements of more than 8 bytes do not occur in kernels.
template <typename E, typename Group, typename Pes>
MESHMEM_DEVICE void p(const Group&, Pes pes, E* dest, E value, int pe) {
  using B = Bits<sizeof(E)>;
  const int world_pe = pes.world_pe(pe);
  check_aligned(dest, sizeof(E));
  E* there = nullptr;
  if (!find_near(&there, dest, world_pe))
    return p_rare(reinterpret_cast<B*>(dest), bit_cast<B>(value), world_pe);
  store_relaxed(there, value);
}
template <typename E, typename Group, typename Pes>
MESHMEM_DEVICE E g(const Group&, Pes pes, const E* source, int pe) {
  using B = Bits<sizeof(E)>;
  const int world_pe = pes.world_pe(pe);
  check_aligned(source, sizeof(E));
  before_get();
  E* there = nullptr;
  if (!find_near(&there, source, world_pe))
    return bit_cast<E>(g_rare(reinterpret_cast<const B*>(source), world_pe));
  return load_relaxed(there);
}

// nblocks blocks of bsize elements, at every dst-th and sst-th element. Elements of 16 bytes need
// be aligned to 8 only.
template <typename Source, typename E, typename Group>
MESHMEM_DEVICE void copy_blocks(const Group& group, void* dest, std::ptrdiff_t dst,
                                const void* source, std::ptrdiff_t sst, std::size_t bsize,
                                std::size_t nblocks) {
  using Piece = Bits<(sizeof(E) < 8 ? sizeof(E) : 8)>;
  constexpr std::size_t kPieces = sizeof(E) / sizeof(Piece);
  bsize *= kPieces;
  dst *= static_cast<std::ptrdiff_t>(kPieces);
  sst *= static_cast<std::ptrdiff_t>(kPieces);
  auto* to = static_cast<Piece*>(dest);
  const auto* from = static_cast<const Piece*>(source);
  const auto step = static_cast<std::size_t>(group.size());
  for (auto i = static_cast<std::size_t>(group.rank()); i < bsize * nblocks; i += step) {
    const auto block = static_cast<std::ptrdiff_t>(i / bsize);
    const auto at = static_cast<std::ptrdiff_t>(i % bsize);
    store_plain(to + block * dst + at, Source::load(from + block * sst + at));
  }
}
template <typename E>
MESHMEM_DEVICE FarBlocks far_blocks(std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t bsize,
                                    std::size_t nblocks) {
  constexpr auto kBytes = static_cast<std::ptrdiff_t>(sizeof(E));
  return {dst * kBytes, sst * kBytes, bsize * sizeof(E), nblocks};
}
template <typename E, typename Group, typename Pes>
MESHMEM_DEVICE void ibput(const Group& group, Pes pes, void* dest, const void* source,
                          std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t bsize,
                          std::size_t nblocks, int pe) {
  if (nblocks > 0) check_strides(dst, sst, bsize);
  if (bsize == 0 || nblocks == 0) return;
  check_count(sizeof(E), bsize, nblocks);
  const int world_pe = pes.world_pe(pe);
  void* there = nullptr;
  if (!find(&there, dest, world_pe))
    return by_leader(group, [=] {
      far_put_blocks(dest, source, far_blocks<E>(dst, sst, bsize, nblocks), world_pe);
    });
  copy_blocks<OwnSource, E>(group, there, dst, source, sst, bsize, nblocks);
}
template <typename E, typename Group, typename Pes>
MESHMEM_DEVICE void ibget(const Group& group, Pes pes, void* dest, const void* source,
                          std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t bsize,
                          std::size_t nblocks, int pe) {
  if (nblocks > 0) check_strides(dst, sst, bsize);
  if (bsize == 0 || nblocks == 0) return;
  check_count(sizeof(E), bsize, nblocks);
  const int world_pe = pes.world_pe(pe);
  before_get();
  void* there = nullptr;
  if (!find(&there, source, world_pe))
    return by_leader(group, [=] {
      far_get_blocks(dest, source, far_blocks<E>(dst, sst, bsize, nblocks), world_pe);
    });
  copy_blocks<OthersSource, E>(group, dest, dst, there, sst, bsize, nblocks);
}
template <typename E, typename Group, typename Pes>
MESHMEM_DEVICE void iput(const Group& group, Pes pes, void* dest, const void* source,
                         std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t nelems, int pe) {
  ibput<E>(group, pes, dest, source, dst, sst, 1, nelems, pe);
}
template <typename E, typename Group, typename Pes>
MESHMEM_DEVICE void iget(const Group& group, Pes pes, void* dest, const void* source,
                         std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t nelems, int pe) {
  ibget<E>(group, pes, dest, source, dst, sst, 1, nelems, pe);
}

// Updates a signal at its place in the other PE. Relaxed: the data that it announces has been
// released before.
MESHMEM_DEVICE void update_signal(std::uint64_t* there, std::uint64_t value, int sig_op) {
  if (sig_op == SHMEM_SIGNAL_ADD) {
    fetch_add(there, value);
  } else {
    store_relaxed(there, value);
  }
}

// All threads' data, then one thread's signal.
template <typename Group>
MESHMEM_DEVICE void push_with_signal(const Group& group, void* there, const void* source,
                                     std::size_t bytes, std::uint64_t* signal_there,
                                     std::uint64_t signal, int sig_op) {
  if (bytes > 0) copy<OwnSource>(group, there, source, bytes);
  release_all(group);
  if (group.rank() == 0) {
    release_mine();
    update_signal(signal_there, signal, sig_op);
  }
}
template <typename Group>
MESHMEM_DEVICE_APART void put_signal_rare(Group group, void* dest, const void* source,
                                          std::size_t bytes, std::uint64_t* sig_addr,
                                          std::uint64_t signal, int sig_op, int world_pe,
                                          bool waits) {
  void* there = nullptr;
  std::uint64_t* signal_there = nullptr;
  if ((bytes == 0 || find(&there, dest, world_pe)) && find(&signal_there, sig_addr, world_pe))
    return push_with_signal(group, there, source, bytes, signal_there, signal, sig_op);
  by_leader(group, [=] {
    far_put_signal(dest, source, bytes, sig_addr, signal, sig_op, world_pe, waits);
  });
}
template <typename Group>
MESHMEM_DEVICE void put_signal_bytes(const Group& group, void* dest, const void* source,
                                     std::size_t bytes, std::uint64_t* sig_addr,
                                     std::uint64_t signal, int sig_op, int world_pe, bool waits) {
  check_aligned(sig_addr, sizeof *sig_addr);
  void* there = nullptr;
  std::uint64_t* signal_there = nullptr;
  if ((bytes > 0 && !find_near(&there, dest, world_pe)) ||
      !find_near(&signal_there, sig_addr, world_pe))
    return put_signal_rare(group, dest, source, bytes, sig_addr, signal, sig_op, world_pe, waits);
  push_with_signal(group, there, source, bytes, signal_there, signal, sig_op);
}
template <typename E, typename Group, typename Pes>
MESHMEM_DEVICE void put_signal(const Group& group, Pes pes, void* dest, const void* source,
                               std::size_t nelems, std::uint64_t* sig_addr, std::uint64_t signal,
                               int sig_op, int pe) {
  check_signal_op(sig_op);
  check_count(sizeof(E), nelems);
  put_signal_bytes(group, dest, source, nelems * sizeof(E), sig_addr, signal, sig_op,
                   pes.world_pe(pe), true);
}
template <typename E, typename Group, typename Pes>
MESHMEM_DEVICE void put_signal_nbi(const Group& group, Pes pes, void* dest, const void* source,
                                   std::size_t nelems, std::uint64_t* sig_addr,
                                   std::uint64_t signal, int sig_op, int pe) {
  check_signal_op(sig_op);
  check_count(sizeof(E), nelems);
  put_signal_bytes(group, dest, source, nelems * sizeof(E), sig_addr, signal, sig_op,
                   pes.world_pe(pe), false);
}

MESHMEM_DEVICE_APART void signal_rare(std::uint64_t* sig_addr, std::uint64_t signal, int sig_op,
                                      int world_pe) {
  auto* const there = reinterpret_cast<std::uint64_t*>(find_rare(sig_addr, world_pe));
  if (there) return update_signal(there, signal, sig_op);
  far_signal(sig_addr, signal, sig_op, world_pe);
}
MESHMEM_DEVICE void signal_at(std::uint64_t* sig_addr, std::uint64_t signal, int sig_op,
                              int world_pe) {
  check_aligned(sig_addr, sizeof *sig_addr);
  std::uint64_t* there = nullptr;
  if (!find_near(&there, sig_addr, world_pe))
    return signal_rare(sig_addr, signal, sig_op, world_pe);
  update_signal(there, signal, sig_op);
}
template <typename Pes>
MESHMEM_DEVICE void signal_set(Pes pes, std::uint64_t* sig_addr, std::uint64_t signal, int pe) {
  signal_at(sig_addr, signal, SHMEM_SIGNAL_SET, pes.world_pe(pe));
}
template <typename Pes>
MESHMEM_DEVICE void signal_add(Pes pes, std::uint64_t* sig_addr, std::uint64_t signal, int pe) {
  signal_at(sig_addr, signal, SHMEM_SIGNAL_ADD, pes.world_pe(pe));
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_RMA_HPP_
