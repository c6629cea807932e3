// SPDX-License-Identifier: Apache-2.0
// Rewrites launches in sources for the cpu target: `kernel<<<shape>>>(arguments)` becomes
// `kernel_of(...).on(shape)(arguments)`. Shape and arguments do not change. hip/on_cpu/launch.h has
// kernel_of(). Invariant: text that is not a launch does not change.
#include "launches/edits.hpp"

namespace meshmem::launches {
namespace {

// Finds where the expression before <<< begins: a name with its qualifiers and template arguments,
// a call, an element, a member, or an expression in parentheses.
class KernelExpression {
 public:
  explicit KernelExpression(const Tokens& tokens) : tokens_(tokens) {}

  // The first token of the expression that ends before `end`, or kNone.
  std::size_t begin(std::size_t end) const {
    const std::size_t last = end - 1;
    if (tokens_.is(last, ")")) return begin_of_parentheses(last);
    if (tokens_.is(last, "]"))
      return tokens_.partner(last) == kNone ? kNone : begin(tokens_.partner(last));
    return begin_of_name(last);
  }

 private:
  std::size_t begin_of_parentheses(std::size_t close) const {
    const std::size_t open = tokens_.partner(close);
    if (open == kNone) return kNone;
    const std::size_t called = open - 1;
    const bool is_call = tokens_.is_name(called) || tokens_.is(called, "]") ||
                         (tokens_.is(called, ")") && !ends_condition(called)) ||
                         (tokens_.is(called, ">") && begin_of_name(called) != kNone);
    if (is_call || tokens_.is(called, "decltype")) return is_call ? begin(open) : called;
    return open;
  }

  // Whether `close` ends the condition of an if, for, while or switch: a statement begins after it.
  bool ends_condition(std::size_t close) const {
    return tokens_.is_one_of(tokens_.partner(close) - 1,
                             {"if", "constexpr", "for", "while", "switch"});
  }

  // `last` is a name or ends its template arguments.
  std::size_t begin_of_name(std::size_t last) const {
    std::size_t name = last;
    if (tokens_.is(last, ">")) {
      const std::size_t open = tokens_.begin_of_template_arguments(last);
      if (open == kNone) return kNone;
      name = open - 1;
    }
    if (!tokens_.is_name(name)) return kNone;
    std::size_t before = name - 1;
    if (tokens_.is(before, "template")) --before;
    if (tokens_.is(before, ".") || tokens_.is(before, "->")) return begin(before);
    if (!tokens_.is(before, "::")) return name;
    const std::size_t qualifier = begin_of_qualifier(before);
    return qualifier == kNone ? before : qualifier;
  }

  std::size_t begin_of_qualifier(std::size_t colons) const {
    const std::size_t last = colons - 1;
    const bool is_decltype = tokens_.is(last, ")") && tokens_.partner(last) != kNone &&
                             tokens_.is(tokens_.partner(last) - 1, "decltype");
    return is_decltype ? tokens_.partner(last) - 1 : begin_of_name(last);
  }

  const Tokens& tokens_;
};

// Returns the >>> that ends the shape of a launch, before its arguments in parentheses, or kNone if
// it is missing. With `skips_templates`, a name and < are taken for the beginning of template
// arguments, so a comparison may hide the >>>.
std::size_t find_end_of_shape(const Tokens& tokens, std::size_t first, bool skips_templates) {
  for (std::size_t at = first; at < tokens.size(); ++at) {
    if (tokens.is(at, ";") || tokens.is_closer(at) || tokens.is_adjacent_run(at, "<<<"))
      return kNone;
    if (tokens.is_opener(at)) {
      if (tokens.partner(at) == kNone) return kNone;
      at = tokens.partner(at);
    } else if (tokens.is_adjacent_run(at, ">>>") && tokens.is(at + 3, "(")) {
      return at;
    } else if (skips_templates && tokens.is_name(at) && tokens.is(at + 1, "<")) {
      const std::size_t end = tokens.end_of_template_arguments(at + 1);
      if (end != kNone) at = end - 1;
    }
  }
  return kNone;
}

std::size_t find_end_of_shape(const Tokens& tokens, std::size_t first) {
  const std::size_t end = find_end_of_shape(tokens, first, true);
  return end != kNone ? end : find_end_of_shape(tokens, first, false);
}

// The tokens on one line, without comments and line markers.
std::string on_one_line(const Tokens& tokens, std::size_t first, std::size_t end) {
  std::string line;
  for (std::size_t at = first; at < end; ++at) {
    if (at > first && tokens[at - 1].end != tokens[at].begin) line += ' ';
    line += tokens.text(at);
  }
  return line;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? ' ' : c;  // a raw string may have newlines
  }
  return result + '"';
}

// Returns what hipLaunchKernelGGL expands to. Only the last copy of the kernel keeps the newlines
// and line markers of the source.
std::string kernel_of(const std::string& kernel, std::string_view with_lines) {
  std::string result = " ::hip_on_cpu::kernel_of(" + quoted(kernel);
  result += ", [&](auto hip_on_cpu_later) -> decltype(::hip_on_cpu::address_of(hip_on_cpu_later, ";
  result += kernel + ")) { return ::hip_on_cpu::address_of(hip_on_cpu_later, " + kernel;
  result += "); }, [&](const auto&... hip_on_cpu_each) -> decltype(static_cast<void>((" + kernel;
  result += ")(hip_on_cpu_each...))) { (";
  return result.append(with_lines) + ")(hip_on_cpu_each...); }).on(";
}

}  // namespace

void rewrite_launches(const Tokens& tokens, Edits& edits) {
  for (std::size_t at = 0; at < tokens.size(); ++at) {
    if (!tokens.is_adjacent_run(at, "<<<")) continue;
    const std::size_t kernel = KernelExpression(tokens).begin(at);
    const std::size_t end = find_end_of_shape(tokens, at + 3);
    if (kernel == kNone || end == kNone) continue;
    const std::size_t text = tokens[kernel].begin;
    edits.replace(kernel, at + 3,
                  kernel_of(on_one_line(tokens, kernel, at),
                            tokens.text().substr(text, tokens[at].begin - text)));
    edits.replace(end, end + 3, ")");
    at += 2;
  }
}

}  // namespace meshmem::launches
