// SPDX-License-Identifier: Apache-2.0
//
// The symmetric memory of random_one_sided_test.cpp, and a lane: the operations of one thread on
// one context, drawn at random and compared with a model.
// Invariant: each lane has a place of its own in the memory of every PE, and orders by fence and
// quiet the operations that the standard leaves unordered. So the model is exact.
#ifndef MESHMEM_TESTS_API_ONE_SIDED_LANE_HPP
#define MESHMEM_TESTS_API_ONE_SIDED_LANE_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "one_sided_routines.hpp"
#include "random_numbers.hpp"

namespace meshmem {

constexpr size_t kThreads = 3, kContexts = 3, kMostPes = 12;
constexpr size_t kStaticBytes = 2048;  // of a place; the rest of it is in the heap
constexpr size_t kSignalBytes = 64;    // its first bytes are signals
alignas(64) inline unsigned char static_places[kMostPes * kThreads * kContexts * kStaticBytes];

inline size_t index_of(int pe, size_t thread) {
  return static_cast<size_t>(pe) * kThreads + thread;
}

// Words of each PE that threads of all PEs change.
struct Counters {
  enum Kind { sum, small_sum, signals, parity, n_kinds };
  SymmetricArray<uint64_t> words{n_kinds};
  std::vector<std::array<std::atomic<uint64_t>, n_kinds>> by_me{static_cast<size_t>(n_pes())};
  Counters() { std::fill(words.data(), words.data() + n_kinds, 0); }
};

// Messages of a thread to the next PE's thread of its number.
struct Mailbox {
  static constexpr size_t kWords = 40;
  SymmetricArray<uint64_t> words{kThreads * kWords}, flag{kThreads}, turn{kThreads};
  Mailbox() {
    std::fill(flag.data(), flag.data() + kThreads, 0);
    std::fill(turn.data(), turn.data() + kThreads, 0);
  }
};

struct World {
  const OneSided routines;
  const size_t heap_bytes = n_pes() <= 3 ? 300000 : 20000;  // of a place; more than one chunk
  SymmetricArray<unsigned char> heap{index_of(n_pes(), 0) * kContexts * heap_bytes};
  Counters counters;
  Mailbox mail;
  shmem_ctx_t shared_ctx = SHMEM_CTX_INVALID;  // of all threads of this PE
  World() { std::memset(heap.data(), 0, heap.size()); }
};

struct Range {
  size_t begin, end;
  bool overlaps(const Range& other) const { return begin < other.end && other.begin < end; }
};
inline bool any_overlaps(const std::vector<Range>& ranges, const Range& one) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const Range& r) { return r.overlaps(one); });
}

// A thread's operations on one context. Offsets count the static bytes first, then those of the
// heap.
class Lane {
 public:
  Lane(World& world, size_t thread, size_t number, shmem_ctx_t ctx, Random& random)
      : world_(world),
        ctx_(ctx),
        random_(random),
        place_(index_of(my_pe(), thread) * kContexts + number) {
    for (int pe = 0; pe < n_pes(); ++pe) peers_.emplace_back(kStaticBytes + world.heap_bytes);
  }

  // Returns "" if the model agrees, else what is wrong.
  std::string step() {
    pe_ = random_.between(0, n_pes() - 1);
    switch (random_.below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return put();
      case 4:
      case 5:
        return get();
      case 6:
        return single();
      case 7:
      case 8:
        return strided();
      case 9:
      case 10:
      case 11:
        return change();
      case 12:
        return signal();
      case 13:
        return count();
      case 14:
        return fence();
      default:
        return random_.one_in(3) ? quiet_one() : quiet();
    }
  }

  std::string quiet() {
    shmem_ctx_quiet(ctx_);
    for (Peer& peer : peers_) peer.unfenced.clear(), peer.unfinished.clear(), peer.read.clear();
    return look_at_held([](int) { return true; });
  }

  std::string check_all() {
    std::string wrong = quiet();
    std::vector<unsigned char> seen;
    for (pe_ = 0; pe_ < n_pes() && wrong.empty(); ++pe_) {
      seen.resize(peer().model.size());
      shmem_ctx_getmem(ctx_, seen.data(), at(0), kStaticBytes, pe_);
      shmem_ctx_getmem(ctx_, &seen[kStaticBytes], at(kStaticBytes), world_.heap_bytes, pe_);
      const auto [a, b] = std::mismatch(seen.begin(), seen.end(), peer().model.begin());
      if (a != seen.end())
        wrong = "byte " + std::to_string(a - seen.begin()) + " of the place in PE " +
                std::to_string(pe_);
    }
    return wrong;
  }
  shmem_ctx_t ctx() const { return ctx_; }

 private:
  struct Peer {
    explicit Peer(size_t bytes) : model(bytes) {}
    std::vector<unsigned char> model;
    // Bytes written since the last fence, and since the last quiet; bytes that an incomplete get
    // reads.
    std::vector<Range> unfenced, unfinished, read;
  };
  // The memory that an operation under way reads or fills; `expected` is empty where it reads.
  struct Held {
    int pe;
    std::string what;
    std::vector<unsigned char> data, expected;
  };

  Peer& peer() { return peers_[static_cast<size_t>(pe_)]; }
  // The symmetric address of a byte of this lane's place.
  unsigned char* at(size_t offset) {
    if (offset < kStaticBytes) return &static_places[place_ * kStaticBytes + offset];
    return world_.heap.data() + place_ * world_.heap_bytes + offset - kStaticBytes;
  }
  unsigned char* model_at(size_t offset) { return &peer().model[offset]; }

  // A random offset for `n_bytes` bytes, in one segment and after the signals.
  size_t draw_offset(size_t elem_bytes, size_t n_bytes) {
    const bool in_statics = n_bytes <= kStaticBytes - kSignalBytes && random_.one_in(3);
    const size_t begin = in_statics ? kSignalBytes : kStaticBytes;
    const size_t room = in_statics ? kStaticBytes - kSignalBytes : world_.heap_bytes;
    return begin + random_.below((room - n_bytes) / elem_bytes + 1) * elem_bytes;
  }
  size_t draw_elems(size_t elem_bytes, size_t most_bytes) {
    constexpr size_t kBytes[] = {1, 8, 64, 64, 300, 2200, 8192, 8300, 300000};
    const size_t bytes = std::min(kBytes[random_.below(std::size(kBytes))], most_bytes);
    return random_.below(bytes / elem_bytes + 1);
  }
  std::vector<unsigned char> draw_data(size_t n) {
    std::vector<unsigned char> data(n);
    uint64_t bits = random_.bits();
    for (size_t i = 0; i < n; i += 8) {
      bits = scramble(bits);
      std::memcpy(&data[i], &bits, std::min<size_t>(8, n - i));
    }
    return data;
  }

  // Called before this PE writes, and reads. They order operations that the standard leaves
  // unordered.
  std::string before_write(const Range& range) {
    if (any_overlaps(peer().read, range)) return quiet();
    if (!any_overlaps(peer().unfenced, range)) return {};
    return random_.one_in(2) ? fence() : quiet();
  }
  std::string before_read(const Range& range) {
    return any_overlaps(peer().unfinished, range) ? quiet() : std::string();
  }
  void after_write(const Range& range) {
    peer().unfenced.push_back(range);
    peer().unfinished.push_back(range);
  }

  std::string fence() {
    shmem_ctx_fence(ctx_);
    for (Peer& peer : peers_) peer.unfenced.clear();
    return {};
  }
  std::string quiet_one() {
    const int pes[] = {pe_};
    shmem_ctx_pe_quiet(ctx_, pes, 1);
    peer().unfenced.clear(), peer().unfinished.clear(), peer().read.clear();
    return look_at_held([&](int pe) { return pe == pe_; });
  }
  template <typename IsComplete>
  std::string look_at_held(const IsComplete& is_complete) {
    std::string wrong;
    std::erase_if(held_, [&](const Held& held) {
      if (!is_complete(held.pe)) return false;
      if (!held.expected.empty() && held.data != held.expected) wrong = held.what;
      return true;
    });
    return wrong;
  }
  Held& hold(const char* what, std::vector<unsigned char> data) {
    return held_.emplace_back(
        Held{pe_, what + (" of PE " + std::to_string(pe_)), std::move(data), {}});
  }

  std::string put() {
    const Move& move = world_.routines.moves[random_.below(world_.routines.moves.size())];
    const size_t n = draw_elems(move.elem_bytes, world_.heap_bytes), bytes = n * move.elem_bytes;
    const size_t offset = draw_offset(move.elem_bytes, bytes);
    const Range range{offset, offset + bytes};
    std::string wrong = before_write(range);
    std::vector<unsigned char> data = draw_data(bytes);
    std::copy(data.begin(), data.end(), model_at(offset));
    const size_t how = random_.below(4);
    if (how == 0) {
      move.put(ctx_, at(offset), data.data(), n, pe_);
    } else if (how == 1) {
      move.put_nbi(ctx_, at(offset), hold("put_nbi", std::move(data)).data.data(), n, pe_);
    } else {
      wrong += put_signal(move, offset, std::move(data), n, how == 3);
    }
    after_write(range);
    return wrong;
  }
  std::string put_signal(const Move& move, size_t offset, std::vector<unsigned char> data, size_t n,
                         bool nbi) {
    const auto [at_signal, op, value, wrong] = draw_signal();
    auto* word = reinterpret_cast<uint64_t*>(at(at_signal));
    if (nbi) {
      auto& kept = hold("put_signal_nbi", std::move(data)).data;
      move.put_signal_nbi(ctx_, at(offset), kept.data(), n, word, value, op, pe_);
    } else {
      move.put_signal(ctx_, at(offset), data.data(), n, word, value, op, pe_);
    }
    return wrong;
  }

  struct DrawnSignal {
    size_t offset;
    int op;
    uint64_t value;
    std::string wrong;
  };
  DrawnSignal draw_signal() {
    const size_t offset = random_.below(kSignalBytes / 8) * 8;
    const Range range{offset, offset + 8};
    std::string wrong = before_write(range);
    const int op = random_.one_in(2) ? SHMEM_SIGNAL_SET : SHMEM_SIGNAL_ADD;
    const uint64_t value = random_.bits();
    uint64_t now;
    std::memcpy(&now, model_at(offset), 8);
    now = op == SHMEM_SIGNAL_SET ? value : now + value;
    std::memcpy(model_at(offset), &now, 8);
    after_write(range);
    return {offset, op, value, wrong};
  }
  std::string signal() {
    const auto [offset, op, value, wrong] = draw_signal();
    auto* word = reinterpret_cast<uint64_t*>(at(offset));
    if (op == SHMEM_SIGNAL_SET) shmem_ctx_signal_set(ctx_, word, value, pe_);
    if (op == SHMEM_SIGNAL_ADD) shmem_ctx_signal_add(ctx_, word, value, pe_);
    return wrong;
  }

  std::string get() {
    const Move& move = world_.routines.moves[random_.below(world_.routines.moves.size())];
    const size_t n = draw_elems(move.elem_bytes, world_.heap_bytes), bytes = n * move.elem_bytes;
    const size_t offset = draw_offset(move.elem_bytes, bytes);
    const Range range{offset, offset + bytes};
    std::string wrong = before_read(range);
    Held& held = hold("get", std::vector<unsigned char>(bytes));
    held.expected.assign(model_at(offset), model_at(offset) + bytes);
    if (random_.one_in(2)) {
      move.get_nbi(ctx_, held.data.data(), at(offset), n, pe_);
      peer().read.push_back(range);
    } else {
      move.get(ctx_, held.data.data(), at(offset), n, pe_);
      if (held.data != held.expected) wrong += held.what;
    }
    return wrong;
  }

  std::string single() {
    const SingleMove& move = world_.routines.singles[random_.below(world_.routines.singles.size())];
    const size_t bytes = move.elem_bytes, offset = draw_offset(bytes, bytes);
    const Range range{offset, offset + bytes};
    unsigned char value[16];
    if (random_.one_in(2)) {
      std::string wrong = before_read(range);
      move.g(ctx_, value, at(offset), pe_);
      return std::memcmp(value, model_at(offset), bytes) == 0 ? wrong : wrong + "g";
    }
    std::string wrong = before_write(range);
    std::memcpy(value, draw_data(bytes).data(), bytes);
    std::memcpy(model_at(offset), value, bytes);
    move.p(ctx_, at(offset), value, pe_);
    after_write(range);
    return wrong;
  }

  // Blocks of `block` elements; iput and iget are those of blocks of one.
  std::string strided() {
    const StridedMove& move =
        world_.routines.strided[random_.below(world_.routines.strided.size())];
    const size_t elem = move.elem_bytes, block = random_.one_in(2) ? 1 : 1 + random_.below(5);
    const size_t n = random_.below(40), there = block + random_.below(4),
                 here = block + random_.below(4);
    const size_t offset = draw_offset(elem, n * there * elem);
    const Range range{offset, offset + n * there * elem};
    const auto remote = static_cast<ptrdiff_t>(there), local = static_cast<ptrdiff_t>(here);
    const bool puts = random_.one_in(2);
    std::string wrong = puts ? before_write(range) : before_read(range);
    std::vector<unsigned char> data = draw_data(n * here * elem), expected = data;
    for (size_t b = 0; b < n; ++b) {
      unsigned char* const far = model_at(offset + b * there * elem);
      unsigned char* const near = &expected[b * here * elem];
      std::memcpy(puts ? far : near, puts ? near : far, block * elem);
    }
    if (puts && block == 1) move.iput(ctx_, at(offset), data.data(), remote, local, n, pe_);
    if (puts && block > 1) move.ibput(ctx_, at(offset), data.data(), remote, local, block, n, pe_);
    if (!puts && block == 1) move.iget(ctx_, data.data(), at(offset), local, remote, n, pe_);
    if (!puts && block > 1) move.ibget(ctx_, data.data(), at(offset), local, remote, block, n, pe_);
    if (puts) after_write(range);
    return data == expected ? wrong : wrong + "a strided get";
  }

  std::string change() {
    const Atomic& atomic = world_.routines.atomics[random_.below(world_.routines.atomics.size())];
    const size_t offset = draw_offset(atomic.elem_bytes, atomic.elem_bytes);
    const Range range{offset, offset + atomic.elem_bytes};
    std::string wrong = before_write(range);
    Held& held = hold(atomic.type, std::vector<unsigned char>(8));
    AtomicCall call{.ctx = ctx_,
                    .which = random_.below(1 << 20),
                    .seed = random_.bits(),
                    .word = at(offset),
                    .model = model_at(offset),
                    .fetched = held.data.data(),
                    .pe = pe_};
    atomic.call(call);
    after_write(range);
    if (call.is_wrong) wrong += std::string("an atomic of ") + atomic.type;
    if (call.is_late) held.expected.assign(call.expected, call.expected + 8);
    if (!call.is_late) held_.pop_back();
    return wrong;
  }

  std::string count() {
    Counters& counters = world_.counters;
    const auto kind = static_cast<Counters::Kind>(random_.below(Counters::n_kinds));
    uint64_t* word = &counters.words[kind];
    uint64_t value = random_.bits();
    std::atomic<uint64_t>& mine = counters.by_me[static_cast<size_t>(pe_)][kind];
    if (kind == Counters::sum && value % 2) shmem_ctx_uint64_atomic_add(ctx_, word, value, pe_);
    if (kind == Counters::sum && value % 2 == 0) {
      value = 1;
      shmem_ctx_ulong_atomic_fetch_inc(ctx_, reinterpret_cast<unsigned long*>(word), pe_);
    }
    if (kind == Counters::small_sum) {
      value &= 0xff;
      shmem_ctx_int_atomic_add(ctx_, reinterpret_cast<int*>(word), static_cast<int>(value), pe_);
    }
    if (kind == Counters::signals) shmem_ctx_signal_add(ctx_, word, value, pe_);
    if (kind == Counters::parity) shmem_ctx_uint64_atomic_fetch_xor(ctx_, word, value, pe_);
    kind == Counters::parity ? mine.fetch_xor(value) : mine.fetch_add(value);
    return {};
  }

  World& world_;
  const shmem_ctx_t ctx_;
  Random& random_;
  const size_t place_;
  int pe_ = 0;
  std::vector<Peer> peers_;
  std::deque<Held> held_;
};

}  // namespace meshmem

#endif
