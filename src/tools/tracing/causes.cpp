// SPDX-License-Identifier: Apache-2.0
//
// Finds the call of another PE that ended a wait. For a variable it is the call that stored the
// value that was waited for. For a collective it is the call of the PE that came last, or the
// root's. For a lock it is the release.
// Invariant: a wait that a store without a record ended (by a kernel, or through a pointer from
// shmem_ptr) gets no cause. No cause is guessed from time alone.
#include <algorithm>
#include <map>
#include <optional>

#include "tools/tracing/timeline.hpp"

namespace meshmem::tracing {
namespace {

constexpr std::size_t kMostVariables = 1024;  // looked at for one wait
constexpr int kAnyPe = -1;                    // all PEs share a lock

struct Variable {
  int pe;
  Place place;
  auto operator<=>(const Variable&) const = default;
};

// A span that stores, and the value if it is known.
struct Update {
  std::uint32_t span;
  std::optional<std::uint64_t> value;
};

struct Updates {
  std::vector<Update> all;  // in the order in which they began
  std::size_t used = 0;     // all before have ended a wait, or began before one that has
};
using UpdatesOf = std::map<Variable, Updates>;

// The variable of another PE that a span stores into, and the value if it is known.
struct Stored {
  std::uint64_t address;
  std::optional<std::uint64_t> value;
};
std::optional<Stored> stored_by(const Span& span) {
  const Record& record = *span.record;
  const Kind kind = span.what().kind;
  if (kind == Kind::put_signal || kind == Kind::signal)
    return Stored{record.other, span.adds() ? std::nullopt : std::optional(record.value)};
  if (kind == Kind::set) return Stored{record.dest, record.value};
  if (kind == Kind::put || kind == Kind::update) return Stored{record.dest, std::nullopt};
  return std::nullopt;
}

template <typename Word>
bool holds(Word left, int comparison, Word right) {
  switch (comparison) {
    case SHMEM_CMP_EQ:
      return left == right;
    case SHMEM_CMP_NE:
      return left != right;
    case SHMEM_CMP_GT:
      return left > right;
    case SHMEM_CMP_LE:
      return left <= right;
    case SHMEM_CMP_LT:
      return left < right;
    case SHMEM_CMP_GE:
      return left >= right;
  }
  return true;
}

bool has_op(const Span& span, std::string_view part) {
  return span.what().name.find(part) != std::string_view::npos;
}

int comparison_of(const Span& wait) {
  const std::string_view name = wait.what().name;
  return name.ends_with("_wait") ? SHMEM_CMP_NE : wait.record->comparison;  // it waits for a change
}

bool is_met_by(const Span& wait, std::uint64_t value) {
  if (has_op(wait, "_vector")) return true;  // its values are not recorded
  const std::uint64_t left = wait.widened(value), right = wait.widened(wait.record->value);
  const int comparison = comparison_of(wait);
  return wait.what().is_signed
             ? holds(static_cast<std::int64_t>(left), comparison, static_cast<std::int64_t>(right))
             : holds(left, comparison, right);
}

class Causes {
 public:
  explicit Causes(Timeline& timeline) : timeline_(timeline) {}

  void find() {
    collect();
    std::ranges::stable_sort(waits_, {}, [&](std::uint32_t index) { return at(index).end_ns; });
    for (const std::uint32_t wait : waits_) find_store(at(wait));
    for (const std::uint32_t wait : lock_waits_) find_release(at(wait));
    for (auto& [key, calls] : collectives_) find_last(calls);
  }

 private:
  using CallsByPe = std::map<int, std::vector<std::uint32_t>>;

  Span& at(std::uint32_t index) { return timeline_.spans[index]; }
  std::int64_t begin_of(std::uint32_t index) const { return timeline_.spans[index].begin_ns; }

  void collect() {
    for (std::uint32_t index = 0; index < timeline_.spans.size(); ++index) collect(index);
    for (UpdatesOf* updates : {&stores_, &releases_})
      for (auto& [variable, found] : *updates)
        std::ranges::stable_sort(found.all, {},
                                 [&](const Update& update) { return begin_of(update.span); });
    for (auto& [key, calls] : collectives_)
      for (auto& [pe, of_pe] : calls)
        std::ranges::stable_sort(of_pe, {}, [&](std::uint32_t index) { return begin_of(index); });
  }

  void collect(std::uint32_t index) {
    const Span& span = at(index);
    const Kind kind = span.what().kind;
    if (span.is_enqueued()) return;  // the stream's own span shows the work
    if (const auto stored = stored_by(span)) {
      const Place place = timeline_.place_of(span.pe, stored->address);
      if (place.area != Area::elsewhere)
        stores_[{span.record->pe, place}].all.push_back({index, stored->value});
    }
    if (kind == Kind::unlock) releases_[lock_of(span)].all.push_back({index, std::nullopt});
    if (kind == Kind::wait || kind == Kind::wait_many) waits_.push_back(index);
    if (kind == Kind::lock && !span.what().tests) lock_waits_.push_back(index);
    const bool is_collective = kind == Kind::collective || kind == Kind::broadcast ||
                               kind == Kind::allocation || kind == Kind::meeting;
    if (is_collective && span.record->other != 0)
      collectives_[key_of(*span.record)][span.pe].push_back(index);
  }

  // A stream comes to the collectives of a team in its own order, apart from the host's.
  static std::uint64_t key_of(const Record& record) {
    constexpr std::uint64_t kOfStreams = 0x5bd1e9955bd1e995;
    return record.by_stream ? record.other ^ kOfStreams : record.other;
  }

  Variable lock_of(const Span& span) const {
    return {kAnyPe, timeline_.place_of(span.pe, span.record->dest)};
  }

  void blame(Span& wait, std::uint32_t cause, std::int64_t waited_ns) {
    wait.cause = cause;
    wait.waited_for = at(cause).pe;
    wait.waited_ns = waited_ns;
  }

  // ---- Variables

  static bool is_failed_test(const Span& wait) {
    const Record& record = *wait.record;
    const std::uint64_t failure = has_op(wait, "_any") ? SIZE_MAX : 0;
    return wait.what().tests && (!record.has_result || record.source == failure);
  }

  // The variables that may have ended the wait.
  std::vector<Variable> variables_of(const Span& wait) const {
    const Record& record = *wait.record;
    const std::uint64_t bytes = wait.what().element_bytes;
    std::uint64_t first = 0, n = 1;
    if (wait.what().kind == Kind::wait_many) {
      n = std::min<std::uint64_t>(record.count, kMostVariables);
      if (has_op(wait, "_any") && record.has_result) first = record.source, n = 1;
    }
    std::vector<Variable> variables;
    if (first == SIZE_MAX) return variables;
    for (std::uint64_t i = first; i < first + n; ++i)
      variables.push_back({wait.pe, timeline_.place_of(wait.pe, record.dest + i * bytes)});
    return variables;
  }

  void find_store(Span& wait) {
    if (!wait.is_finished || is_failed_test(wait)) return;
    const Update* last = nullptr;
    for (const Variable& variable : variables_of(wait)) {
      const auto found = stores_.find(variable);
      if (found == stores_.end()) continue;
      const Update* update = use_store(found->second, wait);
      if (update && (!last || begin_of(update->span) > begin_of(last->span))) last = update;
    }
    if (last) blame(wait, last->span, wait.end_ns - wait.begin_ns);
  }

  // Returns the first store of a known value that fulfils the wait and has not ended another. If
  // there is none, returns the last store before the wait's end that adds, or whose value is not
  // known.
  const Update* use_store(Updates& updates, const Span& wait) {
    const Update* found = nullptr;
    for (std::size_t i = updates.used; i < updates.all.size(); ++i) {
      const Update& update = updates.all[i];
      if (begin_of(update.span) > wait.end_ns) break;
      const bool is_known_end = update.value && is_met_by(wait, *update.value);
      if (is_known_end || !update.value) found = &update;
      if (is_known_end) break;
    }
    if (found) updates.used = static_cast<std::size_t>(found - updates.all.data()) + 1;
    return found;
  }

  // ---- Locks

  void find_release(Span& wait) {
    const auto found = releases_.find(lock_of(wait));
    if (found == releases_.end() || !wait.is_finished) return;
    const std::vector<Update>& all = found->second.all;
    const auto after = std::ranges::upper_bound(
        all, wait.end_ns, {}, [&](const Update& update) { return begin_of(update.span); });
    if (after == all.begin()) return;
    const std::uint32_t release = std::prev(after)->span;
    if (begin_of(release) > wait.begin_ns && at(release).pe != wait.pe)
      blame(wait, release, wait.end_ns - wait.begin_ns);
  }

  // ---- Collectives

  // The nth calls of all PEs of a team belong together.
  void find_last(const CallsByPe& calls) {
    std::size_t most = 0;
    for (const auto& [pe, of_pe] : calls) most = std::max(most, of_pe.size());
    for (std::size_t number = 0; number < most; ++number) {
      std::vector<std::uint32_t> together;
      int missing = -1;  // the first PE that has not called
      for (const auto& [pe, of_pe] : calls) {
        if (number < of_pe.size())
          together.push_back(of_pe[number]);
        else if (missing < 0)
          missing = pe;
      }
      if (!is_one_call(together)) return;
      missing < 0 ? blame_last(together) : blame_missing(together, missing);
    }
  }

  bool is_one_call(const std::vector<std::uint32_t>& together) {
    return std::all_of(together.begin(), together.end(), [&](std::uint32_t index) {
      return at(index).what().kind == at(together[0]).what().kind;
    });
  }

  std::uint32_t last_of(const std::vector<std::uint32_t>& together) {
    const Span& first = at(together[0]);
    if (first.what().kind == Kind::broadcast)
      for (const std::uint32_t index : together)
        if (at(index).pe == first.record->pe) return index;
    return *std::ranges::max_element(together, {},
                                     [&](std::uint32_t index) { return begin_of(index); });
  }

  void blame_last(const std::vector<std::uint32_t>& together) {
    const std::uint32_t last = last_of(together);
    for (const std::uint32_t index : together) {
      Span& wait = at(index);
      const std::int64_t until = std::min(wait.end_ns, at(last).begin_ns);
      // A PE that has called no collective of the team may be missing: blame none then.
      if (index != last && wait.is_finished && until > wait.begin_ns)
        blame(wait, last, until - wait.begin_ns);
    }
  }

  // For a job that ended while they waited.
  void blame_missing(const std::vector<std::uint32_t>& together, int missing) {
    for (const std::uint32_t index : together) {
      Span& wait = at(index);
      if (wait.is_finished) continue;
      wait.waited_for = missing;
      wait.waited_ns = wait.end_ns - wait.begin_ns;
    }
  }

  Timeline& timeline_;
  UpdatesOf stores_, releases_;
  std::vector<std::uint32_t> waits_, lock_waits_;
  std::map<std::uint64_t, CallsByPe> collectives_;
};

}  // namespace

void find_causes(Timeline& timeline) { Causes(timeline).find(); }

}  // namespace meshmem::tracing
