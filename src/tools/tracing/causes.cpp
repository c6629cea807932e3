// SPDX-License-Identifier: Apache-2.0
//
// Which call of another PE ended a wait. A wait for a variable: the call that stored what it waited
// for there. A collective: the call of the PE that came last, or the root's. A lock: its release.
// Invariant: what the records do not tell (stores of kernels, of pointers from shmem_ptr) has no
// cause; none is guessed from time alone.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "tools/tracing/timeline.hpp"

namespace meshmem::tracing {
namespace {

constexpr std::size_t kMostVariables = 1024;  // of one wait that are looked at
constexpr int kAnyPe = -1;                    // of a lock

struct Variable {
  int pe;
  Place place;
  auto key() const { return std::tuple(pe, place.area, place.offset); }
  bool operator==(const Variable&) const = default;
};

struct HashOfVariable {
  std::size_t operator()(const Variable& variable) const {
    return (variable.place.offset * 8 + static_cast<std::size_t>(variable.place.area)) *
               0x9e3779b97f4a7c15u +
           static_cast<std::size_t>(variable.pe);
  }
};

// The stored value, where that is known.
struct Update {
  std::uint32_t span;
  std::optional<std::uint64_t> value;
};

struct Updates {
  std::vector<Update> all;  // in the order in which they began
  std::size_t used = 0;     // those before have ended a wait, or came before one that has
};
using UpdatesOf = std::unordered_map<Variable, Updates, HashOfVariable>;

bool adds(const Record& record) {
  return record.comparison == SHMEM_SIGNAL_ADD ||
         routine(record.routine).name.find("signal_add") != std::string_view::npos;
}

// Of a span that stores into one variable of another PE: the address and, if it is known, the
// value.
struct Stored {
  std::uint64_t address;
  std::optional<std::uint64_t> value;
};
std::optional<Stored> stored_by(const Span& span) {
  const Record& record = *span.record;
  const Kind kind = span.what().kind;
  if (kind == Kind::put_signal || kind == Kind::signal)
    return Stored{record.other, adds(record) ? std::nullopt : std::optional(record.value)};
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

std::uint64_t widened(std::uint64_t value, const Routine& what) {
  const int unused_bits = 64 - 8 * std::clamp<int>(what.element_bytes, 1, 8);
  if (what.is_signed)
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << unused_bits) >>
                                      unused_bits);
  return value << unused_bits >> unused_bits;
}

bool has_op(const Span& span, std::string_view part) {
  return span.what().name.find(part) != std::string_view::npos;
}

// Signals are 64 bits without a sign, though their row names no type.
Routine type_of_wait(const Span& wait) {
  Routine what = wait.what();
  if (what.element_bytes == 0) what.element_bytes = 8;
  return what;
}

int comparison_of(const Span& wait) {
  const std::string_view name = wait.what().name;
  return name.ends_with("_wait") ? SHMEM_CMP_NE : wait.record->comparison;  // the oldest form
}

bool is_met_by(const Span& wait, std::uint64_t value) {
  if (has_op(wait, "_vector")) return true;  // its values are not recorded
  const Routine what = type_of_wait(wait);
  const std::uint64_t left = widened(value, what), right = widened(wait.record->value, what);
  const int comparison = comparison_of(wait);
  return what.is_signed
             ? holds(static_cast<std::int64_t>(left), comparison, static_cast<std::int64_t>(right))
             : holds(left, comparison, right);
}

class Causes {
 public:
  explicit Causes(Timeline& timeline) : timeline_(timeline) {}

  void find() {
    collect();
    std::stable_sort(waits_.begin(), waits_.end(), [&](std::uint32_t left, std::uint32_t right) {
      return at(left).end_ns < at(right).end_ns;
    });
    for (const std::uint32_t wait : waits_) find_store(at(wait));
    for (const std::uint32_t wait : lock_waits_) find_release(at(wait));
    for (auto& [key, calls] : collectives_) find_last(calls);
  }

 private:
  using CallsByPe = std::map<int, std::vector<std::uint32_t>>;

  Span& at(std::uint32_t index) { return timeline_.spans[index]; }
  void sort_by_begin(std::vector<std::uint32_t>& spans) {
    std::stable_sort(spans.begin(), spans.end(), [&](std::uint32_t left, std::uint32_t right) {
      return at(left).begin_ns < at(right).begin_ns;
    });
  }

  void collect() {
    for (std::uint32_t index = 0; index < timeline_.spans.size(); ++index) collect(index);
    for (UpdatesOf* updates : {&stores_, &releases_})
      for (auto& [variable, found] : *updates)
        std::stable_sort(found.all.begin(), found.all.end(), [&](const Update& a, const Update& b) {
          return at(a.span).begin_ns < at(b.span).begin_ns;
        });
    for (auto& [key, calls] : collectives_)
      for (auto& [pe, of_pe] : calls) sort_by_begin(of_pe);
  }

  void collect(std::uint32_t index) {
    const Span& span = at(index);
    const Kind kind = span.what().kind;
    if (span.is_enqueued()) return;  // the stream's own span is what happens
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

  // Streams come to collectives of a team in an order of their own.
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

  static bool is_in_vain(const Span& wait) {
    const Record& record = *wait.record;
    return wait.what().tests && (!record.has_result || record.source == 0 ||
                                 (has_op(wait, "_any") && record.source == SIZE_MAX));
  }

  // The variables that may have ended the wait.
  std::vector<Variable> variables_of(const Span& wait) const {
    const Record& record = *wait.record;
    const std::uint64_t bytes = type_of_wait(wait).element_bytes;
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
    if (!wait.is_finished || is_in_vain(wait)) return;
    const Update* last = nullptr;
    for (const Variable& variable : variables_of(wait)) {
      const auto found = stores_.find(variable);
      if (found == stores_.end()) continue;
      const Update* update = use_store(found->second, wait);
      if (update && (!last || at(update->span).begin_ns > at(last->span).begin_ns)) last = update;
    }
    if (last) blame(wait, last->span, wait.end_ns - wait.begin_ns);
  }

  // The first store of a known value that fulfils the wait and has ended none before; without one,
  // of those that add, or store what is not known, the last before the wait's end.
  const Update* use_store(Updates& updates, const Span& wait) {
    const Update* found = nullptr;
    for (std::size_t i = updates.used; i < updates.all.size(); ++i) {
      const Update& update = updates.all[i];
      if (at(update.span).begin_ns > wait.end_ns) break;
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
    for (auto update = found->second.all.rbegin(); update != found->second.all.rend(); ++update) {
      const Span& release = at(update->span);
      if (release.begin_ns > wait.end_ns) continue;
      if (release.begin_ns > wait.begin_ns && release.pe != wait.pe)
        blame(wait, update->span, wait.end_ns - wait.begin_ns);
      return;
    }
  }

  // ---- Collectives

  // The calls with one number on all PEs of a team belong together.
  void find_last(const CallsByPe& calls) {
    std::size_t most = 0;
    for (const auto& [pe, of_pe] : calls) most = std::max(most, of_pe.size());
    for (std::size_t number = 0; number < most; ++number) {
      std::vector<std::uint32_t> together;
      int missing = -1;
      for (const auto& [pe, of_pe] : calls) {
        if (number < of_pe.size()) {
          together.push_back(of_pe[number]);
        } else if (missing < 0) {
          missing = pe;
        }
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
    return *std::max_element(together.begin(), together.end(),
                             [&](std::uint32_t left, std::uint32_t right) {
                               return at(left).begin_ns < at(right).begin_ns;
                             });
  }

  void blame_last(const std::vector<std::uint32_t>& together) {
    const std::uint32_t last = last_of(together);
    for (const std::uint32_t index : together) {
      Span& wait = at(index);
      const std::int64_t until = std::min(wait.end_ns, at(last).begin_ns);
      if (index != last && until > wait.begin_ns) blame(wait, last, until - wait.begin_ns);
    }
  }

  // A job that was ended while they waited.
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
