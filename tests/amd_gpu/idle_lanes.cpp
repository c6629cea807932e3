// SPDX-License-Identifier: Apache-2.0
// See idle_lanes.hpp.
#include "idle_lanes.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "wave.hpp"

namespace amd_gpu {
namespace {

constexpr std::size_t kNowhere = ~std::size_t{0};

std::string_view mnemonic_of(const Instruction& i) {
  return std::string_view(i.text).substr(0, i.text.find(' '));
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [name](std::string_view beginning) { return name.starts_with(beginning); });
}

bool writes_exec(const Instruction& i) {
  const std::string_view name = mnemonic_of(i);
  const Operand& result = i.operand[0];
  return name.find("saveexec") != name.npos || name.find("wrexec") != name.npos ||
         name.starts_with("v_cmpx") ||
         (name.starts_with("s_") && result.kind == Operand::Kind::kScalar &&
          result.first + result.words > kExec && result.first <= kExec + 1);
}

// Whether it does something for the active lanes only.
bool is_for_lanes(const Instruction& i) {
  const std::string_view name = mnemonic_of(i);
  return is_one_of(name, {"v_", "global_", "flat_", "scratch_", "buffer_", "ds_"}) &&
         !is_one_of(name, {"v_readlane", "v_writelane", "v_readfirstlane", "v_nop", "v_mfma",
                           "v_smfmac", "buffer_wb", "buffer_inv"});
}

// The state of exec before an instruction, as far as it is known.
enum class Exec : std::uint8_t { kNotReached, kZero, kAny };

class Paths {
 public:
  explicit Paths(const Listing& listing)
      : listing_(listing), exec_(listing.instructions.size(), Exec::kNotReached) {
    const std::size_t count = exec_.size();
    std::vector<bool> is_target(count);
    targets_.resize(count, kNowhere);
    for (std::size_t n = 0; n < count; ++n) {
      if (!is_branch(n)) continue;
      targets_[n] = target_of(n);
      if (targets_[n] != kNowhere) is_target[targets_[n]] = true;
    }
    // Code that nothing else reaches is called, or jumped to indirectly.
    for (std::size_t n = 0; n < count; ++n)
      if (!is_target[n] && (n == 0 || !goes_on(n - 1))) reach(n, Exec::kAny);
    while (!todo_.empty()) {
      const std::size_t n = todo_.back();
      todo_.pop_back();
      follow(n);
    }
  }
  bool is_idle(std::size_t n) const { return exec_[n] == Exec::kZero; }

 private:
  const Instruction& at(std::size_t n) const { return *listing_.instructions[n]; }
  bool is_branch(std::size_t n) const {
    return is_one_of(mnemonic_of(at(n)), {"s_branch", "s_cbranch_"});
  }
  bool goes_on(std::size_t n) const {
    return !is_one_of(mnemonic_of(at(n)), {"s_branch", "s_setpc", "s_endpgm"});
  }
  std::size_t target_of(std::size_t n) const {
    const auto words = static_cast<std::int16_t>(at(n).operand[0].value);
    const std::uint64_t place =
        listing_.places[n] + at(n).size + static_cast<std::uint64_t>(std::int64_t{words} * 4);
    const auto found = std::lower_bound(listing_.places.begin(), listing_.places.end(), place);
    return found != listing_.places.end() && *found == place
               ? static_cast<std::size_t>(found - listing_.places.begin())
               : kNowhere;
  }

  // If instruction `n` makes all lanes active for a while, to fetch a register that scalars have
  // been spilt into: the instruction that restores exec. Otherwise kNowhere.
  std::size_t end_of_all_lanes(std::size_t n) const {
    if (!at(n).text.starts_with("s_or_saveexec_b64 ") || !at(n).text.ends_with(", -1"))
      return kNowhere;
    const Operand& kept = at(n).operand[0];
    while (++n < exec_.size() && targets_[n] == kNowhere && goes_on(n)) {
      if (!writes_exec(at(n))) continue;
      const Operand& from = at(n).operand[1];
      return at(n).text.starts_with("s_mov_b64 ") && from.kind == kept.kind &&
                     from.first == kept.first
                 ? n
                 : kNowhere;
    }
    return kNowhere;
  }

  // A path comes to `n`; the state there is known as far as all paths agree.
  void reach(std::size_t n, Exec exec) {
    if (n >= exec_.size() || exec_[n] == Exec::kAny || exec_[n] == exec) return;
    exec_[n] = exec;
    todo_.push_back(n);
  }
  void follow(std::size_t n) {
    const std::string_view name = mnemonic_of(at(n));
    if (const std::size_t end = end_of_all_lanes(n); end != kNowhere)
      return reach(end + 1, exec_[n]);
    const Exec after = writes_exec(at(n)) || name.starts_with("s_swappc") ? Exec::kAny : exec_[n];
    if (goes_on(n)) reach(n + 1, name == "s_cbranch_execnz" ? Exec::kZero : after);
    if (targets_[n] != kNowhere)
      reach(targets_[n], name == "s_cbranch_execz" ? Exec::kZero : after);
  }

  const Listing& listing_;
  std::vector<Exec> exec_;
  std::vector<std::size_t> targets_, todo_;
};

}  // namespace

Listing list_of(const CodeObject& object) {
  Listing listing;
  std::uint64_t place = 0;
  for (auto code = object.instructions(); code.size() >= 4;) {
    listing.instructions.emplace_back(decode(object.architecture(), code.data(), code.size()));
    listing.places.push_back(place);
    const std::size_t size = std::min<std::size_t>(listing.instructions.back()->size, code.size());
    place += size;
    code = code.subspan(size);
  }
  return listing;
}

std::vector<std::size_t> executed_by_no_lane(const Listing& listing) {
  const Paths paths(listing);
  std::vector<std::size_t> found;
  for (std::size_t n = 0; n < listing.instructions.size(); ++n)
    if (paths.is_idle(n) && is_for_lanes(*listing.instructions[n])) found.push_back(n);
  return found;
}

}  // namespace amd_gpu
