// SPDX-License-Identifier: Apache-2.0
//
// A site is its line of code, where there is one: two calls in one line count as one.
// Invariant: sites are named by the PE that calls there, since only it knows its addresses.
#include "tools/races/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "tools/interpose/routines.hpp"
#include "tools/races/ledger.hpp"

namespace meshmem::races {
namespace {

// Lives for ever: a destructor of the program may finalize.
auto& sites = *new std::map<std::pair<const void*, unsigned>, std::uint32_t>;
auto& names = *new std::map<const void*, std::string>;  // of callers that are no code

void keep_recent_site(const void* caller, bool stores, std::uint64_t site) {
  const std::uint64_t place = reinterpret_cast<std::uintptr_t>(caller) << 1 | stores;
  if (place <= UINT64_MAX / PeBoard::kSites)
    ledger.sites.word_of(place).store(place * PeBoard::kSites + site, std::memory_order_release);
}

void describe(Site& site, const TraceJob& job, const Place& place) {
  site.routine = place.routine;
  const auto named = names.find(place.caller);
  const std::string text =
      named == names.end() ? job.return_address_text(place.caller) : named->second;
  site.place[text.copy(site.place, sizeof site.place - 1)] = '\0';
}

std::string_view place_of(const Site& site) {
  return site.place[0] ? site.place : "an unknown place";
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

std::uint64_t hash_of(const Site& site) {
  std::uint64_t hash = site.routine + 1;
  for (const char* c = site.place; *c; ++c) hash = mix(hash, static_cast<unsigned char>(*c));
  return hash;
}

std::uint64_t pair_of(const Site& one, const Site& other) {
  const auto [first, second] = std::minmax({hash_of(one), hash_of(other)});
  return mix(first, second) | 1;
}

// In the order of AccessKind.
constexpr std::array<std::string_view, kAccessKinds> kAccessNames{
    "a load of the program", "a store of the program", "a volatile load of the program",
    "a volatile store of the program", "an atomic of the program"};

std::string_view name_of(const Site& site) {
  if (site.routine < tracing::kRoutines) return tracing::routine(site.routine).name;
  const std::size_t kind = site.routine - tracing::kRoutines;
  return kind < kAccessNames.size() ? kAccessNames[kind] : "a call";
}

std::string line_of(std::string_view when, const Access& access, const Site& site) {
  return fmt::format("\n  {} {}{} by PE {}: {} in {}", when, access.writes ? "written" : "read",
                     is_atomic(access) ? " atomically" : "", access.pe,
                     access.site == 0 ? "a call" : name_of(site), place_of(site));
}

// Says what is wrong, and what would be right.
std::string_view hint(const Race& race) {
  if (is_atomic(race.here) && is_atomic(race.before) && race.here.type == race.before.type)
    return "nothing orders the two, which are atomics of contexts of different teams";
  if (is_atomic(race.here) && is_atomic(race.before))
    return "nothing orders the two, which are atomics of different types; use one type, or a "
           "barrier between them";
  if (race.before.pe == race.here.pe && race.before.who() != race.here.who())
    return "nothing orders the two, which are of different threads, sections or tasks";
  if (race.before.pe == race.here.pe)
    return "the first call is not complete before shmem_quiet, which belongs between them";
  if (race.has_returned)
    return "the first call has returned, but no shmem_fence or shmem_quiet came between it and the "
           "second; put one there";
  return "nothing orders the two; a barrier between them does, or a signal for which the second "
         "waits";
}

}  // namespace

std::uint32_t number_of(AccessKind kind) {
  return tracing::kRoutines + static_cast<std::uint32_t>(kind);
}

void name_caller(const void* caller, const char* name) { names.try_emplace(caller, name); }

std::uint32_t site_of(PeBoard& mine, const TraceJob& job, const Place& place) {
  const bool stores = place.routine == number_of(AccessKind::store);
  const bool is_recent = stores || place.routine == number_of(AccessKind::load);
  if (const std::uint32_t site = is_recent ? ledger.sites.find(place.caller, stores) : 0)
    return site;
  const auto [found, is_new] = sites.try_emplace({place.caller, place.routine},
                                                 static_cast<std::uint32_t>(sites.size() + 1));
  const bool is_kept = found->second < PeBoard::kSites;
  if (is_new && is_kept) describe(mine.sites[found->second], job, place);
  if (is_recent && is_kept) keep_recent_site(place.caller, stores, found->second);
  return is_kept ? found->second : 0;
}

std::string text_of(const Boards& boards, const Race& race) {
  const Site here = boards.site(race.here.pe, race.here.site);
  const Site before = boards.site(race.before.pe, race.before.site);
  if (!boards.is_new_pair(pair_of(here, before))) return "";
  return fmt::format("MESHMEM_CHECK=races: a race for {}: {}{}{}", race.place, hint(race),
                     line_of("first", race.before, before), line_of("then", race.here, here));
}

std::string text_of_count(const Head& head) {
  if (head.n_races == 0) return "";
  const std::string times =
      head.n_found > head.n_races ? fmt::format(", found {} times", head.n_found) : "";
  return fmt::format("{} {}{}", head.n_races, head.n_races == 1 ? "race" : "races", times);
}

void forget_sites() {
  sites.clear();
  for (auto& recent : ledger.sites.words) recent = 0;
}

}  // namespace meshmem::races
