// SPDX-License-Identifier: Apache-2.0
//
// Puts a pattern to another PE, gets it back, and compares. Nodes try the network one after the
// other, so that none slows another down.
#include "info/doctor/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace meshmem::doctor {
namespace {

constexpr int kGets = 64;  // whose median is reported
constexpr std::size_t kSmall = 8;

using Bytes = std::array<unsigned char, kTrialBytes>;

// No two PEs put the same pattern to a PE.
Bytes pattern_of(int from, int to) {
  Bytes bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<unsigned char>(i * 7 + i / 256 + static_cast<std::size_t>(from) * 31 +
                                          static_cast<std::size_t>(to) * 17 + 1);
  return bytes;
}

// Whether this PE gets back from `pe` what it has put there.
bool comes_back(const Library& library, int me, void* memory, int pe) {
  const Bytes sent = pattern_of(me, pe);
  Bytes got{};
  library.putmem(memory, sent.data(), sent.size(), pe);
  library.quiet();
  library.getmem(got.data(), memory, got.size(), pe);
  return got == sent;
}

double get_microseconds(const Library& library, const void* memory, int pe) {
  using Clock = std::chrono::steady_clock;
  std::array<double, kGets> times{};
  char word[kSmall];
  for (double& time : times) {
    const auto begin = Clock::now();
    library.getmem(word, memory, kSmall, pe);
    time = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }
  std::nth_element(times.begin(), times.begin() + kGets / 2, times.end());
  return times[kGets / 2];
}

constexpr const char* kReport =
    "run tests of that memory, and report it with the output of meshmem-info and SHMEM_DEBUG=1";

Check try_heap(const Library& library, const Places& places, void* memory) {
  const bool is_alone = places.neighbour == places.me;
  const std::string to = is_alone ? "itself" : fmt::format("PE {} of its node", places.neighbour);
  if (!library.ptr(memory, places.neighbour))
    return bad("heap", fmt::format("PE {} does not reach the memory of {}", places.me, to),
               "start containers of a machine with --pid=host or with one TMPDIR");
  if (!comes_back(library, places.me, memory, places.neighbour))
    return bad("heap", fmt::format("a put from PE {} to {} arrives with wrong data", places.me, to),
               kReport);
  return ok("heap", is_alone ? "a put to itself arrives; there is one PE on the node"
                             : "a put to another PE of the node arrives by shared memory");
}

Check try_device(const Library& library, const Places& places, const TrialMemory& memory,
                 const std::string& target) {
  if (!memory.device)
    return warn("device memory", "there is no device heap, so kernels have no symmetric memory",
                "see the lines of GPUs, and unset MESHMEM_DEVICE_HEAP_SIZE");
  if (!comes_back(library, places.me, memory.device, places.neighbour))
    return bad("device memory",
               fmt::format("a put from PE {} to PE {} arrives with wrong data", places.me,
                           places.neighbour),
               kReport);
  return ok("device memory", target == "cpu" ? "a put arrives; kernels run on processors"
                                             : "a put to a GPU arrives");
}

// The result of a trial of the network from this node to one other.
struct Way {
  int pe;
  bool is_right, is_right_on_device;
  double microseconds;
};

Way try_way(const Library& library, const Places& places, const TrialMemory& memory, int pe) {
  Way way{pe, true, true, 0};
  way.is_right = comes_back(library, places.me, memory.host, pe);
  if (memory.device) way.is_right_on_device = comes_back(library, places.me, memory.device, pe);
  way.microseconds = get_microseconds(library, memory.host, pe);
  return way;
}

Check verdict_of(const std::vector<Way>& ways, const std::string& networks) {
  for (const Way& way : ways)
    if (!way.is_right || !way.is_right_on_device)
      return bad("to other nodes",
                 fmt::format("a put to {} of PE {} arrives with wrong data",
                             way.is_right ? "device memory" : "memory", way.pe),
                 "choose another network by MESHMEM_NETWORK_DEVICE, and report it");
  const Way& slowest = *std::max_element(
      ways.begin(), ways.end(),
      [](const Way& one, const Way& other) { return one.microseconds < other.microseconds; });
  return ok("to other nodes",
            fmt::format("puts to {} node{} arrive; a get of {} bytes takes {:.1f} us at most "
                        "(from PE {}), by {}",
                        ways.size(), ways.size() == 1 ? "" : "s", kSmall, slowest.microseconds,
                        slowest.pe, networks));
}

}  // namespace

Places find_places(const Library& library) {
  Places places{library.my_pe(), library.n_pes(), 0, 0, {}};
  const auto world_pe = [&library](int member) {
    return library.team_translate_pe(SHMEM_TEAM_SHARED, member, SHMEM_TEAM_WORLD);
  };
  const int members = library.team_n_pes(SHMEM_TEAM_SHARED);
  const int own = library.team_translate_pe(SHMEM_TEAM_WORLD, places.me, SHMEM_TEAM_SHARED);
  places.first = world_pe(0);
  places.neighbour = world_pe((own + 1) % members);
  return places;
}

Checks try_job(const Library& library, const Places& places, const TrialMemory& memory,
               const JobFacts& facts) {
  Checks checks;
  if (places.is_first()) {
    checks.push_back(
        ok("start", fmt::format("the library starts: {} PE{} on {} node{}", places.n_pes,
                                places.n_pes == 1 ? "" : "s", places.firsts.size(),
                                places.firsts.size() == 1 ? "" : "s")));
    checks.push_back(try_heap(library, places, memory.host));
    checks.push_back(try_device(library, places, memory, facts.target));
  }
  std::vector<Way> ways;
  for (const int turn : places.firsts) {
    library.barrier_all();
    if (turn != places.me) continue;
    for (const int pe : places.firsts)
      if (pe != places.me) ways.push_back(try_way(library, places, memory, pe));
  }
  library.barrier_all();
  if (!ways.empty()) checks.push_back(verdict_of(ways, facts.networks));
  return checks;
}

}  // namespace meshmem::doctor
