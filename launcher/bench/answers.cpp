// SPDX-License-Identifier: Apache-2.0
//
// Answers, computed by the plainest means. Elements are small whole numbers, whose sums are exact.
// Data repeats after kPeriod elements, a prime, so that a slice in the wrong place is noticed.
#include "bench/answers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>

#include "bench/joint_steps.hpp"
#include "device/hip_on_cpu/hip/on_cpu/short_floats.h"

namespace meshmem::bench {
namespace {

constexpr std::size_t kWord = sizeof(long), kPeriod = 1009;

// ---- The types of elements. The host computes with all of them as double, and has no 16-bit
// floats, so it keeps those as bits.

struct Element {
  std::string_view type;
  std::size_t bytes;
  double rounding;  // the relative error of one operation
  void (*store)(std::byte* to, double value);
  double (*load)(const std::byte* from);
};

using hip_on_cpu::ShortFloat;

template <typename E>
constexpr Element row(std::string_view type, double rounding) {
  return {type, sizeof(E), rounding,
          [](std::byte* to, double value) {
            const auto elem = static_cast<E>(value);
            std::memcpy(to, &elem, sizeof elem);
          },
          [](const std::byte* from) {
            E elem{};
            std::memcpy(&elem, from, sizeof elem);
            return static_cast<double>(elem);
          }};
}

constexpr Element kElements[] = {row<unsigned char>("byte", 0),
                                 row<float>("float", 0x1p-23),
                                 row<double>("double", 0x1p-52),
                                 row<int>("int", 0),
                                 row<long>("long", 0),
                                 row<ShortFloat<10, 5>>("half", 0x1p-10),
                                 row<ShortFloat<7, 8>>("bfloat16", 0x1p-7)};

const Element& find_element(std::string_view type) {
  return *std::find_if(std::begin(kElements), std::end(kElements),
                       [type](const Element& element) { return element.type == type; });
}

// ---- Data and results

const Element& element_of(const Operation& operation) {
  if (operation.is_typed()) return find_element(operation.type);
  return find_element(operation.size == Size::elems ? "float" : "byte");
}

// A product has at most two factors that are not 1, so it is exact.
double value_of(const Case& c, int of_pe, std::size_t i) {
  const auto pe = static_cast<std::size_t>(of_pe), n = static_cast<std::size_t>(c.n);
  i += c.turn;
  if (c.operation.size != Size::elems)
    return static_cast<double>((i * 7 + i / 251 + pe * 31 + 1) % 251);
  if (c.operation.op == "prod") return i % n == pe ? -3 : (i * 7 + 1) % n == pe ? 2 : 1;
  return static_cast<double>((i * 7 + pe * 5) % 11) - 3;
}

double combine(std::string_view op, double a, double b) {
  if (op == "prod") return a * b;
  if (op == "min") return std::min(a, b);
  if (op == "max") return std::max(a, b);
  return a + b;
}

// Returns a period of the combined data of PEs `first` to `end` - 1, or zeros if no PE is in that
// range.
Bytes combined(const Case& c, int first, int end) {
  const Element& element = element_of(c.operation);
  Bytes period(kPeriod * element.bytes);
  for (std::size_t i = 0; i < kPeriod && first < end; ++i) {
    double value = value_of(c, first, i);
    for (int pe = first + 1; pe < end; ++pe)
      value = combine(c.operation.op, value, value_of(c, pe, i));
    element.store(&period[i * element.bytes],
                  c.operation.op == "avg" ? value / (end - first) : value);
  }
  return period;
}
Bytes data_of(const Case& c, int pe) { return combined(c, pe, pe + 1); }

// Puts `bytes` bytes of an endlessly repeated period at dest[at], from its byte `from` on.
void write_data(Bytes& dest, std::size_t at, const Bytes& period, std::size_t from,
                std::size_t bytes) {
  for (const std::size_t end = at + bytes; at < end;) {
    const std::size_t skip = from % period.size(), some = std::min(period.size() - skip, end - at);
    std::memcpy(&dest[at], &period[skip], some);
    at += some;
    from += some;
  }
}

void write_word(Bytes& to, long value) { std::memcpy(to.data(), &value, kWord); }

void write_blocks(const Case& c, Bytes& dest) {
  const Answer answer = c.operation.answer;
  for (int pe = 0; pe < c.n; ++pe) {
    const Bytes data = data_of(c, pe);
    const std::size_t at = c.bytes * static_cast<std::size_t>(pe);
    const std::size_t mine = c.bytes * static_cast<std::size_t>(c.me);
    if (answer == Answer::gather) write_data(dest, at, data, 0, c.bytes);
    if (answer == Answer::alltoall) write_data(dest, at, data, mine, c.bytes);
    if (answer == Answer::alltoallv) write_data(dest, at, data, mine, nelems(c.bytes, pe, c.me));
    if (answer != Answer::alltoalls) continue;
    const std::size_t size = elem_bytes(c.operation);
    for (std::size_t i = 0; i < c.bytes; i += size)
      write_data(dest, (at + i) * kStride, data, (mine + i) * kStride, size);
  }
}

Bytes dest_after(const Case& c) {
  Bytes dest = dest_before(c);
  const bool is_first = c.me == 0, is_peer = c.me == c.peer;
  switch (c.operation.answer) {
    case Answer::put:
      if (is_peer) write_data(dest, 0, data_of(c, 0), 0, c.bytes);
      break;
    case Answer::get:
      if (is_first) write_data(dest, 0, data_of(c, c.peer), 0, c.bytes);
      break;
    case Answer::last_call:
      if (is_peer) write_word(dest, c.calls - 1);
      break;
    case Answer::calls:
    case Answer::calls_fetched:
      if (is_peer) write_word(dest, c.calls);
      break;
    case Answer::first_word:
    case Answer::signals:
      break;
    case Answer::exchange:
      if (is_first || is_peer) write_data(dest, 0, data_of(c, is_first ? c.peer : 0), 0, c.bytes);
      break;
    case Answer::meeting:
      write_word(dest, (c.me + c.n - 1) % c.n + 1);
      break;
    case Answer::broadcast:
      write_data(dest, 0, data_of(c, 0), 0, c.bytes);
      break;
    case Answer::gather:
    case Answer::alltoall:
    case Answer::alltoalls:
    case Answer::alltoallv:
      write_blocks(c, dest);
      break;
    case Answer::sum:
      write_data(dest, 0, combined(c, 0, c.n), 0, c.bytes);
      break;
    case Answer::sum_of_block:
      write_data(dest, 0, combined(c, 0, c.n), c.bytes * static_cast<std::size_t>(c.me), c.bytes);
      break;
    case Answer::sum_up_to:
      write_data(dest, 0, combined(c, 0, c.me + 1), 0, c.bytes);
      break;
    case Answer::sum_before:
      write_data(dest, 0, combined(c, 0, c.me), 0, c.bytes);
      break;
  }
  return dest;
}

// The bytes of a buffer with one block, or with a block for each PE.
std::size_t bytes_of_blocks(const Case& c, bool has_all) {
  if (!c.operation.has_sizes()) return kWord;
  const std::size_t strides = c.operation.answer == Answer::alltoalls ? kStride : 1;
  return c.bytes * strides * (has_all ? static_cast<std::size_t>(c.n) : 1);
}
bool moves_between_all(Answer answer) {
  return answer == Answer::alltoall || answer == Answer::alltoalls || answer == Answer::alltoallv;
}

}  // namespace

std::size_t elem_bytes(const Operation& operation) { return element_of(operation).bytes; }

std::size_t source_bytes(const Case& c) {
  const Answer answer = c.operation.answer;
  return bytes_of_blocks(c, moves_between_all(answer) || answer == Answer::sum_of_block);
}

std::size_t dest_bytes(const Case& c) {
  const Answer answer = c.operation.answer;
  return bytes_of_blocks(c, moves_between_all(answer) || answer == Answer::gather);
}

std::size_t nelems(std::size_t bytes, int from, int to) {
  return (from + to) % 2 == 0 ? bytes : bytes / 2;
}

Bytes source_of(const Case& c) {
  Bytes source(source_bytes(c));
  write_data(source, 0, data_of(c, c.me), 0, source.size());
  return source;
}

Bytes dest_before(const Case& c) {
  Bytes dest(dest_bytes(c) + kGuardBytes, kPoison);
  if (c.operation.size == Size::word) write_word(dest, 0);
  return dest;
}

// Only all-reduces that have all types round: for each PE once at most.
long count_wrong(const Case& c, const Bytes& dest) {
  const Bytes right = dest_after(c);
  if (dest == right) return 0;
  const Element& element = find_element(c.operation.is_typed() ? c.operation.type : "byte");
  long wrong = 0;
  const std::size_t guard = dest_bytes(c);
  for (std::size_t at = 0; at < guard; at += element.bytes) {
    const double answer = element.load(&right[at]), off = element.load(&dest[at]) - answer;
    wrong += !(std::abs(off) <= c.n * element.rounding * std::max(1.0, std::abs(answer)));
  }
  for (std::size_t at = guard; at < right.size(); ++at) wrong += dest[at] != right[at];
  return wrong;
}

long fetched_after(const Case& c) {
  const Answer answer = c.operation.answer;
  if (answer == Answer::signals) return c.me == 0 || c.me == c.peer ? c.calls : 0;
  if (c.me != 0) return 0;
  if (answer == Answer::calls_fetched) return c.calls - 1;
  if (answer != Answer::first_word) return 0;
  long word = 0;
  std::memcpy(&word, data_of(c, c.peer).data(), kWord);
  return word;
}

}  // namespace meshmem::bench
