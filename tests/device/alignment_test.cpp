// SPDX-License-Identifier: Apache-2.0
//
// putmem and getmem in kernels at every size up to 200 bytes and every alignment of both ends, by a
// thread, a wave and a block.
// Invariant: each pair of alignments has a slot of its own, whose other bytes keep their value.
#include "forms.hpp"

namespace meshmem {
namespace {

constexpr size_t kMostBytes = 200;
constexpr size_t kWidest = 16;  // alignments are 0 to 15
constexpr size_t kSlot = 224;   // a multiple of 16 with room for bytes before and after
constexpr size_t kSlots = kWidest * kWidest;
constexpr size_t kFormBytes = kSlots * kSlot;
constexpr unsigned char kGuard = 0xee;

__global__ void copy_kernel(Form form, bool put, unsigned char* dest, const unsigned char* source,
                            size_t bytes, int pe) {
  if (!takes_part(form)) return;
  for (size_t slot = 0; slot < kSlots; ++slot) {
    unsigned char* to = dest + slot * kSlot + slot / kWidest;
    const unsigned char* from = source + slot % kWidest;
    if (form == Form::kThread)
      put ? shmem_putmem(to, from, bytes, pe) : shmem_getmem(to, from, bytes, pe);
    if (form == Form::kWave)
      put ? shmemx_putmem_wave(to, from, bytes, pe) : shmemx_getmem_wave(to, from, bytes, pe);
    if (form == Form::kBlock)
      put ? shmemx_putmem_block(to, from, bytes, pe) : shmemx_getmem_block(to, from, bytes, pe);
  }
}

using Bytes = std::vector<unsigned char>;

// The bytes that all slots of a form should hold after a copy from a PE's source.
Bytes expected_slots(const Bytes& source, size_t bytes) {
  Bytes slots(kFormBytes, kGuard);
  for (size_t slot = 0; slot < kSlots; ++slot) {
    for (size_t i = 0; i < bytes; ++i)
      slots[slot * kSlot + slot / kWidest + i] = source[slot % kWidest + i];
  }
  return slots;
}

void expect_slots(const char* what, const Bytes& found, size_t form, const Bytes& expected,
                  size_t bytes) {
  for (size_t i = 0; i < kFormBytes; ++i) {
    if (found[form * kFormBytes + i] == expected[i]) continue;
    const size_t slot = i / kSlot;
    ADD_FAILURE() << what << " of " << bytes << " bytes by a " << name_of(kGroups[form])
                  << ", dest at " << slot / kWidest << ", source at " << slot % kWidest
                  << " of 16: byte " << i % kSlot << " of the slot is wrong";
    return;
  }
}

void check_all_sizes(const char* what, bool put) {
  constexpr int kRound = 3;
  const int from = put ? previous_pe() : next_pe();
  const Bytes theirs = samples<unsigned char>(kMostBytes + kWidest, from, kRound);
  DeviceArray<unsigned char> source(samples<unsigned char>(kMostBytes + kWidest, my_pe(), kRound));
  DeviceArray<unsigned char> dest(3 * kFormBytes);
  for (size_t bytes = 0; bytes <= kMostBytes; bytes += bytes < 70 || bytes >= 190 ? 1 : 7) {
    must(hipMemset(dest.data(), kGuard, dest.size()), "hipMemset");
    meet_after_kernels();
    for (size_t form = 0; form < 3; ++form)
      launch(copy_kernel, 1, odd_block(), kGroups[form], put, dest.data() + form * kFormBytes,
             source.data(), bytes, next_pe());
    meet_after_kernels();
    const Bytes found = dest.download(), expected = expected_slots(theirs, bytes);
    for (size_t form = 0; form < 3; ++form) expect_slots(what, found, form, expected, bytes);
  }
}

TEST(DevicePutMem, TakesAnySizeAtAnyAlignment) { check_all_sizes("putmem", true); }
TEST(DeviceGetMem, TakesAnySizeAtAnyAlignment) { check_all_sizes("getmem", false); }

}  // namespace
}  // namespace meshmem
