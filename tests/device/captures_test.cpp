// SPDX-License-Identifier: Apache-2.0
//
// Every routine on a stream: alone in a graph that is replayed with fresh data, and on the default
// stream. Those that compute are read from the tables; the others are kRoutines, and the
// declarations of shmemx.h are compared with both, so that none is forgotten.
// Invariant: dest is poisoned before each round, and the stream itself reads the data that a
// routine must order, right behind it.
#include <regex.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "../api/extension_model.hpp"
#include "own_stream.hpp"

namespace meshmem {
namespace {

constexpr int kOld = 900;
constexpr int kReplays = 3;
constexpr size_t kMost = 300001;  // bytes: above what kernels copy in graphs
constexpr size_t kBlock = 1001;   // bytes of a PE in a collective

// The same for all PEs: blocks of kBlock bytes, one behind the other.
inline std::vector<size_t> lengths() {
  return std::vector<size_t>(static_cast<size_t>(n_pes()), kBlock);
}
inline std::vector<size_t> places() {
  std::vector<size_t> all;
  for (int pe = 0; pe < n_pes(); ++pe) all.push_back(static_cast<size_t>(pe) * kBlock);
  return all;
}

struct Space {
  DeviceArray<unsigned char> dest{kMost + 1}, source{kMost}, got{kMost};
  DeviceArray<uint64_t> signal{1};
  DeviceArray<size_t> nelems{lengths()}, displs{places()};
  OwnStream stream, other;
};

void wait_for(hipStream_t stream) { must(hipStreamSynchronize(stream), "hipStreamSynchronize"); }

// round(number, stream, make) a few times: make() replays the capture of call(stream); and on the
// default stream, where make() calls it.
template <typename Call, typename Round>
void on_streams(Space& space, const Call& call, const Round& round) {
  {
    const OwnGraph graph(space.stream, [&] { call(space.stream); });
    for (int number = 1; number <= kReplays; ++number) {
      SCOPED_TRACE(testing::Message() << "replay " << number);
      round(number, space.stream, [&] { graph.replay(space.stream); });
    }
  }
  SCOPED_TRACE("on the default stream");
  round(kReplays + 1, nullptr, [&] { call(nullptr); });
}

// ---- Those that move data or synchronize

using Bytes = std::vector<unsigned char>;

Bytes sent(int pe, int round) { return samples<unsigned char>(kMost, pe, round); }
void append(Bytes& to, const Bytes& from, size_t first, size_t bytes) {
  const auto begin = from.begin() + static_cast<std::ptrdiff_t>(first);
  to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(bytes));
}
size_t collected(int pe) { return static_cast<size_t>(pe) * 7; }

struct Routine {
  const char* name;
  // The stream's work before the call, the call itself, and the work before the stream reads dest.
  void (*before)(Space&, hipStream_t);
  void (*call)(Space&, hipStream_t);
  void (*after)(Space&, hipStream_t);
  Bytes (*expected)(int round);  // the first bytes of dest
};

void nothing(Space&, hipStream_t) {}
void put(Space& s, hipStream_t stream) {
  shmemx_putmem_on_stream(s.dest.data(), s.source.data(), kMost, next_pe(), stream);
}
void put_and_complete(Space& s, hipStream_t stream) {
  put(s, stream);
  shmemx_quiet_on_stream(stream);
}
void meet(Space&, hipStream_t stream) {
  shmemx_quiet_on_stream(stream);
  shmemx_barrier_all_on_stream(stream);
}
void await_signal(Space& s, hipStream_t stream) {
  shmemx_signal_wait_until_on_stream(s.signal.data(), SHMEM_CMP_EQ, 7, stream);
}
// The stream waits until another one has sent the signal, which follows the data.
void send_late(Space& s, hipStream_t stream) {
  EXPECT_EQ(hipStreamQuery(stream), hipErrorNotReady);
  static_cast<void>(hipGetLastError());  // which some runtimes remember that as
  shmem_barrier_all();
  put(s, s.other);
  shmemx_signal_op_on_stream(s.signal.data(), 7, SHMEM_SIGNAL_SET, next_pe(), s.other);
}
Bytes of_previous(int round) { return sent(previous_pe(), round); }

const Routine kRoutines[] = {
    {"putmem", nothing, put, meet, of_previous},
    {"getmem", nothing,
     [](Space& s, hipStream_t stream) {
       shmemx_getmem_on_stream(s.dest.data(), s.source.data(), kMost, next_pe(), stream);
     },
     meet, [](int round) { return sent(next_pe(), round); }},
    {"putmem_signal", nothing,
     [](Space& s, hipStream_t stream) {
       shmemx_putmem_signal_on_stream(s.dest.data(), s.source.data(), kMost, s.signal.data(), 7,
                                      SHMEM_SIGNAL_ADD, next_pe(), stream);
     },
     await_signal, of_previous},
    {"signal_op", put,
     [](Space& s, hipStream_t stream) {
       shmemx_signal_op_on_stream(s.signal.data(), 7, SHMEM_SIGNAL_ADD, next_pe(), stream);
     },
     await_signal, of_previous},
    {"signal_wait_until", nothing, await_signal, send_late, of_previous},
    {"quiet", put, [](Space&, hipStream_t stream) { shmemx_quiet_on_stream(stream); },
     [](Space&, hipStream_t stream) { shmemx_barrier_all_on_stream(stream); }, of_previous},
    {"barrier_all", put, [](Space&, hipStream_t stream) { shmemx_barrier_all_on_stream(stream); },
     nothing, of_previous},
    {"team_sync", put_and_complete,
     [](Space&, hipStream_t stream) {
       EXPECT_EQ(shmemx_team_sync_on_stream(SHMEM_TEAM_WORLD, stream), 0);
     },
     nothing, of_previous},
    {"sync_all", put_and_complete,
     [](Space&, hipStream_t stream) { shmemx_sync_all_on_stream(stream); }, nothing, of_previous},
    {"uchar_p", nothing,
     [](Space& s, hipStream_t stream) {
       shmemx_uchar_p_on_stream(s.dest.data(), 42, next_pe(), stream);
     },
     meet, [](int) { return Bytes{42}; }},
    {"uint64_wait_until", nothing,
     [](Space& s, hipStream_t stream) {
       shmemx_uint64_wait_until_on_stream(s.signal.data(), SHMEM_CMP_EQ, uint64_t{7}, stream);
     },
     send_late, of_previous},
    {"broadcastmem", nothing,
     [](Space& s, hipStream_t stream) {
       EXPECT_EQ(shmemx_broadcastmem_on_stream(SHMEM_TEAM_WORLD, s.dest.data(), s.source.data(),
                                               kMost, n_pes() - 1, stream),
                 0);
     },
     nothing, [](int round) { return sent(n_pes() - 1, round); }},
    {"fcollectmem", nothing,
     [](Space& s, hipStream_t stream) {
       EXPECT_EQ(shmemx_fcollectmem_on_stream(SHMEM_TEAM_WORLD, s.dest.data(), s.source.data(),
                                              kBlock, stream),
                 0);
     },
     nothing,
     [](int round) {
       Bytes all;
       for (int pe = 0; pe < n_pes(); ++pe) append(all, sent(pe, round), 0, kBlock);
       return all;
     }},
    {"collectmem", nothing,
     [](Space& s, hipStream_t stream) {
       EXPECT_EQ(shmemx_collectmem_on_stream(SHMEM_TEAM_WORLD, s.dest.data(), s.source.data(),
                                             collected(my_pe()), stream),
                 0);
     },
     nothing,
     [](int round) {
       Bytes all;
       for (int pe = 0; pe < n_pes(); ++pe) append(all, sent(pe, round), 0, collected(pe));
       return all;
     }},
    {"alltoallmem", nothing,
     [](Space& s, hipStream_t stream) {
       EXPECT_EQ(shmemx_alltoallmem_on_stream(SHMEM_TEAM_WORLD, s.dest.data(), s.source.data(),
                                              kBlock, stream),
                 0);
     },
     nothing,
     [](int round) {
       Bytes all;
       for (int pe = 0; pe < n_pes(); ++pe)
         append(all, sent(pe, round), static_cast<size_t>(my_pe()) * kBlock, kBlock);
       return all;
     }},
    {"alltoallvmem", nothing,
     [](Space& s, hipStream_t stream) {
       EXPECT_EQ(shmemx_alltoallvmem_on_stream(SHMEM_TEAM_WORLD, s.dest.data(), s.nelems.data(),
                                               s.displs.data(), s.source.data(), s.nelems.data(),
                                               s.displs.data(), stream),
                 0);
     },
     nothing,
     [](int round) {
       Bytes all;
       for (int pe = 0; pe < n_pes(); ++pe)
         append(all, sent(pe, round), static_cast<size_t>(my_pe()) * kBlock, kBlock);
       return all;
     }},
};

void check(Space& space, const Routine& routine) {
  SCOPED_TRACE(routine.name);
  const Bytes poison = samples<unsigned char>(kMost + 1, my_pe(), kOld);
  on_streams(
      space, [&](hipStream_t stream) { routine.call(space, stream); },
      [&](int number, hipStream_t stream, const auto& make) {
        space.dest.upload(poison);
        space.source.upload(sent(my_pe(), number));
        space.signal.fill_with(0);
        shmem_barrier_all();
        routine.before(space, stream);
        make();
        routine.after(space, stream);
        shmemx_getmem_on_stream(space.got.data(), space.dest.data(), kMost, my_pe(), stream);
        wait_for(stream);
        space.other.synchronize();
        Bytes expected = routine.expected(number);
        append(expected, poison, expected.size(), poison.size() - expected.size());
        expect_equal("dest", space.dest.download(), expected);
        expected.pop_back();
        expect_equal("what the stream reads next", space.got.download(), expected);
      });
}

TEST(Captures, EveryRoutineThatMovesDataOrSynchronizes) {
  Space space;
  for (const Routine& routine : kRoutines) check(space, routine);
}

// ---- Those that compute

template <typename E>
using Compute = int (*)(shmem_team_t, E*, const E*, size_t, shmemx_stream_t);

class Computations {
 public:
  Computations() : views_{world_view(), make_view(n_pes() - 1, -1, n_pes())} {}
  ~Computations() { shmem_team_destroy(views_[1].team); }

  // By turns on the world and on its PEs in reversed order. A third of them by more than three PEs,
  // and few where each step is slow.
  template <typename E, typename P>
  void check(const char* name, const Extension& kind, Compute<P> compute) {
    const TeamView& view = views_[turn_++ % 2];
    if (n_pes() > 3 && turn_ % 3 != 0) return;
    if (rounds(1000) < 1000 && turn_ % 15 != 0) return;
    SCOPED_TRACE(name);
    using OnHost = Stored<E>;
    constexpr size_t kElems = 23;
    auto* dest = reinterpret_cast<OnHost*>(space_.dest.data());
    auto* source = reinterpret_cast<OnHost*>(space_.source.data());
    const auto call = [&](hipStream_t stream) {
      EXPECT_EQ(compute(view.team, reinterpret_cast<P*>(dest + 1), reinterpret_cast<P*>(source),
                        kElems, stream),
                0);
    };
    on_streams(space_, call, [&](int number, hipStream_t stream, const auto& make) {
      const size_t first = static_cast<size_t>(number) * 7;
      std::vector<OnHost> around = samples<OnHost>(kElems + 2, my_pe(), kOld);
      upload(dest, around);
      upload(source, source_of<E>(kind, view, kElems, first));
      shmem_barrier_all();
      make();
      wait_for(stream);
      const std::vector<OnHost> result = result_of<E>(kind, view, kElems, first);
      std::copy(result.begin(), result.end(), around.begin() + 1);
      expect_equal(name, download(dest, around.size()), around);
    });
  }

 private:
  Space space_;
  TeamView views_[2];
  size_t turn_ = 0;
};

TEST(Captures, EveryComputationOfEveryType) {
  Computations computations;
#define MESHMEM_CHECK(name, op, E, ...) \
  computations.check<E, E>(#name, op, shmemx_##name##_on_stream);
#define MESHMEM_CHECK_SHORT(name, op, E, ...) \
  computations.check<E, void>(#name, op, shmemx_##name##_on_stream);
  MESHMEM_COMPUTED_ON_STREAM(MESHMEM_CHECK, MESHMEM_IN)
  MESHMEM_SHORT_REDUCTIONS(MESHMEM_CHECK_SHORT, half, meshmem_half)
  MESHMEM_SHORT_REDUCTIONS(MESHMEM_CHECK_SHORT, bfloat16, meshmem_bfloat16)
}

// ---- All there are

// The matches of the pattern's first group. By POSIX: g++ 12 warns of its own <regex> under
// sanitizers.
std::set<std::string> found_in_header(const char* pattern) {
  std::ifstream file(MESHMEM_HEADER_FILE);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  regex_t expression;
  EXPECT_EQ(regcomp(&expression, pattern, REG_EXTENDED), 0);
  std::set<std::string> found;
  regmatch_t match[2];
  for (const char* at = text.c_str(); regexec(&expression, at, 2, match, 0) == 0;
       at += match[0].rm_eo)
    found.emplace(at + match[1].rm_so, at + match[1].rm_eo);
  regfree(&expression);
  return found;
}

// Of rows with types one stands for all: they differ in the bytes of an element.
TEST(Captures, HaveEveryRoutineThatTheHeaderDeclares) {
  std::set<std::string> names;
  for (const Routine& routine : kRoutines) names.insert(routine.name);
  names.insert({"moe_plan", "moe_dispatch", "moe_combine"});  // moe_test.cpp replays rounds of them
  std::set<std::string> there =
      found_in_header("shmemx_([a-zA-Z0-9_]+)_on_stream\\([^;()]*shmemx_stream_t stream\\);");
  constexpr std::string_view kSuffix = "_on_stream";
#define MESHMEM_NAME(name, ...) \
  there.insert(std::string(#name).substr(0, sizeof(#name) - 1 - kSuffix.size()));
  MESHMEM_STREAM_ROUTINES(MESHMEM_NAME)
#undef MESHMEM_NAME
#define MESHMEM_NAME(name, ...) there.insert(#name);
  MESHMEM_SIZED_MOVED_ROW(mem, char, MESHMEM_NAME)
  MESHMEM_OPS_MOVE(MESHMEM_NAME, , mem, char, void)
  MESHMEM_OP_ALLTOALLV(MESHMEM_NAME, , mem, char, void)
  MESHMEM_OP_P(MESHMEM_NAME, uchar_, unsigned char)
  MESHMEM_OP_WAIT_UNTIL(MESHMEM_NAME, uint64_, uint64_t)
#undef MESHMEM_NAME
  EXPECT_EQ(there, names);
  const std::set<std::string> tables = {"MESHMEM_COMPUTED_ON_STREAM", "MESHMEM_SHORT_REDUCTIONS",
                                        "MESHMEM_MOVED_ON_STREAM"};
  EXPECT_EQ(found_in_header("([a-zA-Z0-9_]+)\\(MESHMEM_DECLARE_ON_STREAM,"), tables);
}

}  // namespace
}  // namespace meshmem
