// SPDX-License-Identifier: Apache-2.0
//
// Kernels with packets and wide lines, and such as wait for earlier kernels, that are compiled to
// PTX and read by ptx.py, never run.
// Invariant: those called planted_* break one of its rules each.
#include <hip/hip_runtime.h>

#include "device/collectives/reduce.hpp"
#include "device/kernels/launch_kernel.hpp"

namespace {

using namespace meshmem::device;
using Word = std::uint64_t;

MESHMEM_DEVICE Bits128 load_plain(const Bits128* from) { return *from; }
MESHMEM_DEVICE bool is_line_of(const Bits128& line, Word epoch) { return line.word[1] == epoch; }

}  // namespace

extern "C" __global__ void send_line_probe(Bits128* to, Word data, Word epoch) {
  send_line(to, data, epoch);
}
extern "C" __global__ void receive_line_probe(Word* to, const Bits128* from, Word epoch) {
  *to = receive_line(from, epoch);
}

// The data may be seen later than the flag.
extern "C" __global__ void planted_send_plain(Bits128* to, Word data, Word epoch) {
  *to = line_of(data, epoch);
}
extern "C" __global__ void planted_send_by_words(std::uint32_t* to, Word data, Word epoch) {
  const Bits128 line = line_of(data, epoch);
  for (int i = 0; i < 4; ++i)
    store_relaxed(to + i, static_cast<std::uint32_t>(line.word[i / 2] >> i % 2 * 32));
}
// A half without a flag.
extern "C" __global__ void planted_send_one_flag(Bits128* to, Word data, Word epoch) {
  store_pair(to, Bits128{{data, epoch << 32 | (data & 0xffffffff)}});
}
// Sends the words of a wide line without a flag in any lane.
extern "C" __global__ void planted_send_no_flag(Bits128* to, Word data) {
  store_pair(to, Bits128{{data, data + 1}});
}
// A division of 64 bits for each line.
extern "C" __global__ void planted_exchange_divides(Bits128* to, Word data, Word epoch,
                                                    std::size_t line, std::size_t relays) {
  send_line(to + line / relays, data, epoch);
}
extern "C" __global__ void planted_receive_plain(Word* to, const Bits128* from, Word epoch) {
  Bits128 line = load_plain(from);
  while (!has_come(line, epoch)) {
    __threadfence_system();
    line = load_plain(from);
  }
  *to = data_of(line);
}
// A flag that comes later is never seen.
extern "C" __global__ void planted_receive_once(Word* to, const Bits128* from, Word epoch) {
  const Bits128 line = load_pair(from);
  while (!has_come(line, epoch)) __nanosleep(1);
  *to = data_of(line);
}
// The other half's data may be another operation's.
extern "C" __global__ void planted_receive_one_flag(Word* to, const Bits128* from, Word epoch) {
  for (;;) {
    const Bits128 line = load_pair(from);
    if (line.word[0] >> 32 != (epoch & 0xffffffff)) continue;
    *to = data_of(line);
    return;
  }
}
// Seven lanes of eight look at data in place of the flag.
extern "C" __global__ void planted_receive_own_lane(Word* to, const Bits128* from, Word epoch) {
  for (;;) {
    const Bits128 line = load_pair(from + threadIdx.x);
    if (!__all_sync(0xffffffff, is_line_of(line, epoch))) continue;
    to[threadIdx.x] = line.word[0];
    return;
  }
}

// The store may overtake those of an earlier kernel.
extern "C" __global__ void planted_wait_missing_kernel(Word* to) { *to = 1; }
extern "C" __global__ void planted_wait_late_kernel(Word* to, const Word* from) {
  const Word read = load_relaxed(from);
  after_earlier_kernels();
  *to = read;
}
extern "C" __global__ void planted_wait_at_times_kernel(Word* to, bool waits) {
  if (waits) after_earlier_kernels();
  *to = 1;
}
