// SPDX-License-Identifier: Apache-2.0
// `(const void*)kernel` becomes `noted_cast<const void*>(kernel)`, which notes the kernel's type,
// so that it can be launched by its address. For anything but a kernel, noted_cast is a plain cast.
#include <unordered_set>

#include "launches/edits.hpp"

namespace meshmem::launches {
namespace {

class Casts {
 public:
  Casts(const Tokens& tokens, Edits& needed, Edits& possible)
      : tokens_(tokens), needed_(needed), possible_(possible) {}

  void rewrite() {
    for (std::size_t at = 0; at < tokens_.size(); ++at) {
      can_note_ = can_note_ || tokens_.is(at, "noted_cast");
      note_kernel(at);
      note_launch(at);
      rewrite_reinterpret_cast(at);
      rewrite_c_cast(at);
    }
  }

 private:
  // Notes the kernel's name: the first name before parentheses after the attribute of __global__.
  void note_kernel(std::size_t at) {
    if (!tokens_.is(at, "__attribute__") || !tokens_.is_adjacent_run(at + 1, "(())")) return;
    for (std::size_t next = at + 5;
         next < tokens_.size() && !tokens_.is_one_of(next, {";", "{", "="});) {
      if (!tokens_.is(next, "(")) {
        ++next;
        continue;
      }
      std::size_t name = next - 1;
      if (tokens_.is(name, ">")) name = tokens_.begin_of_template_arguments(name) - 1;
      if (tokens_.is_name(name) && !tokens_.is_one_of(name, {"__attribute__", "__declspec"})) {
        kernels_.insert(tokens_.text(name));
        return;
      }
      if (tokens_.partner(next) == kNone) return;
      next = tokens_.partner(next) + 1;
    }
  }

  // Notes where the first argument of a launch ends, if the launch takes a kernel as void*.
  void note_launch(std::size_t at) {
    if (!tokens_.is(at + 1, "(") ||
        !tokens_.is_one_of(at, {"hipLaunchKernel", "hipLaunchCooperativeKernel", "cudaLaunchKernel",
                                "cudaLaunchCooperativeKernel", "nvshmemx_collective_launch"}))
      return;
    end_of_launched_ = at + 2;
    while (end_of_launched_ < tokens_.size() &&
           !tokens_.is_one_of(end_of_launched_, {",", ")", ";"})) {
      const std::size_t end = tokens_.is(end_of_launched_, "<")
                                  ? tokens_.end_of_template_arguments(end_of_launched_)
                                  : kNone;
      end_of_launched_ = end != kNone ? end : tokens_.behind(end_of_launched_);
    }
  }

  // The token after `const void*` or a similar type at `at`, or kNone.
  std::size_t end_of_void_pointer(std::size_t at) const {
    std::size_t voids = 0, stars = 0;
    for (;; ++at) {
      if (tokens_.is(at, "void"))
        ++voids;
      else if (tokens_.is(at, "*"))
        ++stars;
      else if (!tokens_.is_one_of(at, {"const", "volatile"}))
        break;
    }
    return voids == 1 && stars == 1 ? at : kNone;
  }

  // The token after the name or the parentheses at `at`; kNone if more than these is cast.
  std::size_t end_of_operand(std::size_t at) const {
    if (tokens_.is(at, "(")) {
      const std::size_t close = tokens_.partner(at);
      return close != kNone && may_follow(close + 1) ? close + 1 : kNone;
    }
    if (tokens_.is(at, "&")) ++at;
    if (tokens_.is(at, "::")) ++at;
    while (tokens_.is_name(at)) {
      ++at;
      const std::size_t end = tokens_.is(at, "<") ? tokens_.end_of_template_arguments(at) : kNone;
      if (end != kNone) at = end;
      if (!tokens_.is(at, "::")) return may_follow(at) ? at : kNone;
      at += tokens_.is(at + 1, "template") ? 2 : 1;
    }
    return kNone;
  }
  // False after tokens behind which parentheses hold a function's parameters or an operator's
  // operand.
  bool may_begin_cast(std::size_t at) const {
    return !tokens_.is_operand(at - 1) &&
           !tokens_.is_one_of(at - 1, {">", "]", "operator", "sizeof", "alignof", "decltype",
                                       "typeid", "noexcept"});
  }
  bool may_follow(std::size_t at) const {
    return tokens_.is_one_of(at, {")", "]", "}", ",", ";", ":", "?", "=", "!"});
  }

  // Whether a function-pointer type is written there: the operand is cast to another type then.
  bool has_other_type(std::size_t first, std::size_t end) const {
    for (std::size_t at = first; at + 2 < end; ++at) {
      if (tokens_.is_adjacent_run(at, "(*)")) return true;
    }
    return false;
  }

  // Casts of a kernel, and those in a launch's first argument, must be rewritten. Another name may
  // be a variable with a kernel's address.
  Edits* edits_for(std::size_t first, std::size_t end) {
    if (has_other_type(first, end)) return nullptr;
    if (first < end_of_launched_) return &needed_;
    for (std::size_t at = first; at < end; ++at) {
      if (kernels_.count(tokens_.text(at)) != 0) return &needed_;
    }
    if (!can_note_) return nullptr;
    return tokens_[first].in_system_header || !tokens_.is_name(end - 1) ? nullptr : &possible_;
  }

  void rewrite_reinterpret_cast(std::size_t at) {
    if (!tokens_.is(at, "reinterpret_cast")) return;
    const std::size_t close = end_of_void_pointer(at + 2);
    const std::size_t open = close + 1;
    if (close == kNone || !tokens_.is(open, "(") || tokens_.partner(open) == kNone) return;
    if (Edits* edits = edits_for(open + 1, tokens_.partner(open)))
      edits->replace(at, "::hip_on_cpu::noted_cast");
  }

  void rewrite_c_cast(std::size_t at) {
    if (!tokens_.is(at, "(")) return;
    const std::size_t close = end_of_void_pointer(at + 1);
    if (close == kNone || !tokens_.is(close, ")") || !may_begin_cast(at)) return;
    const std::size_t end = end_of_operand(close + 1);
    if (end == kNone) return;
    if (Edits* edits = edits_for(close + 1, end)) {
      edits->replace(at, "::hip_on_cpu::noted_cast<");
      edits->replace(close, ">(");
      edits->insert_behind(end - 1, ")");
    }
  }

  const Tokens& tokens_;
  Edits &needed_, &possible_;
  std::unordered_set<std::string_view> kernels_;
  bool can_note_ = false;            // noted_cast is declared, by HIP's header
  std::size_t end_of_launched_ = 0;  // tokens before it are a launch's first argument
};

}  // namespace

void rewrite_casts(const Tokens& tokens, Edits& needed, Edits& possible) {
  Casts(tokens, needed, possible).rewrite();
}

}  // namespace meshmem::launches
