// SPDX-License-Identifier: Apache-2.0
// `extern __shared__ type name[];` becomes `static thread_local type (&name)[] = DynamicShared();`,
// a reference that lambdas need not capture. The preprocessor has replaced __shared__ by `static
// thread_local`, which C++ does not allow beside extern.
#include <utility>

#include "launches/edits.hpp"

namespace meshmem::launches {
namespace {

// The first token of the attribute that ends with `close`, or kNone.
std::size_t begin_of_attribute(const Tokens& tokens, std::size_t close) {
  const std::size_t open = tokens.partner(close);
  if (!tokens.is(close, ")") || open == kNone) return kNone;
  return tokens.is_one_of(open - 1, {"__attribute__", "__declspec", "alignas"}) ? open - 1 : kNone;
}

// The first token of the declaration that has this token among its specifiers.
std::size_t begin_of_declaration(const Tokens& tokens, std::size_t specifier) {
  std::size_t begin = specifier;
  for (;;) {
    const std::size_t before = begin - 1;
    const std::size_t attribute = begin_of_attribute(tokens, before);
    if (attribute != kNone) {
      begin = attribute;
    } else if (tokens.is(before, "::") ||
               (before < tokens.size() && tokens[before].kind == TokenKind::kName)) {
      begin = before;
    } else if (tokens.is(before, ">") && tokens.begin_of_template_arguments(before) != kNone) {
      begin = tokens.begin_of_template_arguments(before);
    } else {
      return begin;
    }
  }
}

// The [ after the first name that has one, or kNone.
std::size_t find_dimension(const Tokens& tokens, std::size_t from) {
  for (std::size_t at = from; at < tokens.size(); at = tokens.behind(at)) {
    if (tokens.is(at, "[") && tokens.is_name(at - 1)) return at;
    const bool is_open = tokens.is_opener(at) && tokens.partner(at) == kNone;
    if (is_open || tokens.is_closer(at) || tokens.is_one_of(at, {";", "=", "{"})) return kNone;
  }
  return kNone;
}

// Rewrites from the first [ of a declaration to its semicolon; false if it has another form.
bool rewrite_declarators(const Tokens& tokens, std::size_t dimension, Edits& edits) {
  for (;;) {
    const std::size_t name = dimension - 1;
    std::size_t end = dimension;
    while (end < tokens.size() && !tokens.is_one_of(end, {";", ","})) end = tokens.behind(end);
    if (end >= tokens.size()) return false;
    edits.replace(name, "(&" + std::string(tokens.text(name)) + ")");
    edits.insert_before(end, " = ::hip_on_cpu::DynamicShared()");
    if (tokens.is(end, ";")) return true;
    dimension = find_dimension(tokens, end + 1);
    if (dimension == kNone) return false;
  }
}

void rewrite_declaration(const Tokens& tokens, std::size_t shared, Edits& edits) {
  const std::size_t begin = begin_of_declaration(tokens, shared);
  const std::size_t dimension = find_dimension(tokens, shared);
  if (dimension == kNone) return;
  Edits found(tokens);
  found.insert_before(begin, "[[maybe_unused]] ");
  bool is_extern = false;
  for (std::size_t at = begin; at < dimension; ++at) {
    if (!tokens.is(at, "extern")) continue;
    is_extern = true;
    found.replace(at, "");
  }
  if (is_extern && rewrite_declarators(tokens, dimension, found)) edits.append(std::move(found));
}

}  // namespace

void rewrite_shared_arrays(const Tokens& tokens, Edits& edits) {
  for (std::size_t at = 0; at < tokens.size(); ++at) {
    if (tokens.is(at, "static") && tokens.is(at + 1, "thread_local"))
      rewrite_declaration(tokens, at, edits);
  }
}

}  // namespace meshmem::launches
