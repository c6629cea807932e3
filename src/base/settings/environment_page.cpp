// SPDX-License-Identifier: Apache-2.0
//
// The environment variables as text for people: SHMEM_INFO's answer and docs/environment.md.
// Invariant: nothing about a single variable is written here; that all comes from the table. Called
// by start-up when SHMEM_INFO is set, by meshmem-info, and by the test that guards the page.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/settings/environment.hpp"

namespace meshmem {
namespace {

// Breaks `text` between words into lines of at most kColumns characters, all indented.
std::string wrapped(std::string_view text) {
  constexpr std::size_t kColumns = 80;
  constexpr std::string_view kIndent = "      ";
  std::string lines;
  std::size_t column = kColumns;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (column + 1 + word.size() > kColumns) {
      if (!lines.empty()) lines += '\n';
      lines += kIndent;
      column = kIndent.size();
    } else {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += word.size();
  }
  return lines + '\n';
}

constexpr std::string_view kPageHead = R"(# Environment variables

<!-- Made by `meshmem-info --environment-markdown` from src/base/settings/environment_table.hpp.
     Edit that table, then make this page again; a test compares the two. -->

The library reads these once, when a program first initializes it. `SHMEM_INFO=1` prints them at the
start of any program, and `meshmem-info` prints them with their present values.

)";

constexpr std::string_view kPageRules = R"(
## How values are read

- A value that cannot be understood is an error: `shmem_init` ends the job, and `shmem_init_thread`
  returns nonzero. Both print a line with the variable, its value and what it takes.
- Variables that take any value only have to be set: `SHMEM_DEBUG=0` prints debugging messages too.
- Each `SHMEM_` variable has an older name that begins with `SMA_`. When both are set, `SHMEM_`
  wins.
- A size may have a fraction, and is rounded up to whole bytes: `3.1m` is 3250586, `.5m` is `512k`.
  Anything after the suffix is ignored: `20kk` and `20kB` are `20k`.
- The decimal point is a point, whatever the locale.
- With `SHMEM_DEBUG` set, a variable that begins with `MESHMEM_` and is not on this page is
  reported: it may be a typing error.
)";

constexpr std::string_view kPageOthers = R"(
## Variables of NVSHMEM and rocSHMEM

Scripts of programs for these libraries set these libraries' variables. meshmem reads one of them
if its own variable is not set, and only in programs that start under that library's names
([porting.md](porting.md#nvshmem-and-rocshmem)). `nvshmem_init` reads only NVSHMEM's,
`rocshmem_init` only rocSHMEM's, and `shmem_init` neither. A process reads them only at its first
start. The heap is 16 MiB larger than the variable says, so that one block of the size that it
names fits beside small ones.

)";

constexpr std::string_view kPageTests = R"(
## For tests of meshmem

Tests of meshmem itself set these. Programs do not need them.

)";

// The rows of users, or those for tests.
std::string table_of(bool for_tests) {
  std::string rows = "| variable | takes | default | what it does |\n|---|---|---|---|\n";
  for (const Variable& variable : environment_variables()) {
    if (variable.is_for_tests != for_tests) continue;
    rows += fmt::format("| `{}` | {} | {} | {} |\n", variable.name, variable.accepted,
                        variable.default_value, variable.text);
  }
  return rows;
}

// How many characters have to be inserted, removed or replaced to make one text of the other.
std::size_t distance_of(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t above_left = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = above_left + (a[i] == b[j] ? 0 : 1);
      above_left = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// The name behind SHMEM_ or MESHMEM_.
std::string_view stem_of(std::string_view name) { return name.substr(name.find("SHMEM_") + 6); }

}  // namespace

std::string variable_meant_by(std::string_view unknown) {
  constexpr std::size_t kMistakes = 2;
  const bool is_ours = unknown.starts_with("MESHMEM_");
  for (const Variable& variable : environment_variables()) {
    const bool has_stem = stem_of(variable.name) == stem_of(unknown);
    if (variable.name != unknown &&
        (has_stem || (is_ours && distance_of(variable.name, unknown) <= kMistakes)))
      return variable.name;
  }
  return "";
}

std::vector<std::string> unknown_variables(const char* const* entries) {
  const auto variables = environment_variables();
  const auto has = [](const auto& rows, std::string_view name) {
    return std::any_of(std::begin(rows), std::end(rows),
                       [&](const auto& row) { return row.name == name; });
  };
  std::vector<std::string> unknown;
  for (; entries != nullptr && *entries != nullptr; ++entries) {
    const std::string_view entry = *entries;
    const std::string_view name = entry.substr(0, entry.find('='));
    if (has(variables, name) || has(kOshrunVariables, name)) continue;
    const bool has_wrong_prefix = name.starts_with("SHMEM_") && !variable_meant_by(name).empty();
    if (name.starts_with("MESHMEM_") || has_wrong_prefix) unknown.emplace_back(name);
  }
  return unknown;
}

std::string environment_help() {
  std::string help = "Environment variables of meshmem:\n";
  for (const Variable& variable : environment_variables()) {
    help += fmt::format("\n  {}", variable.name);
    if (!variable.alias.empty()) help += fmt::format(" (or {})", variable.alias);
    help += '\n' + wrapped(variable.text);
    help += wrapped(fmt::format("Takes {}.", variable.accepted));
    help += wrapped(fmt::format("Default: {}.", variable.default_value));
  }
  help += "\nSet by oshrun for the programs it starts:\n";
  for (const OshrunVariable& variable : kOshrunVariables) {
    help += fmt::format("\n  {}\n{}", variable.name, wrapped(variable.text));
  }
  return help;
}

std::string environment_markdown() {
  std::string page(kPageHead);
  page += table_of(false);
  page += kPageRules;
  page += kPageOthers;
  page += "| library | variable | is read as |\n|---|---|---|\n";
  for (const LibraryVariable& variable : kLibraryVariables)
    page +=
        fmt::format("| {} | `{}` | `{}` |\n", variable.library_name, variable.name, variable.ours);
  page += "\n## Set by oshrun\n\n`oshrun` sets these for the programs that it starts.\n\n";
  page += "| variable | what it says |\n|---|---|\n";
  for (const OshrunVariable& variable : kOshrunVariables) {
    page += fmt::format("| `{}` | {} |\n", variable.name, variable.text);
  }
  page += kPageTests;
  page += table_of(true);
  return page;
}

}  // namespace meshmem
