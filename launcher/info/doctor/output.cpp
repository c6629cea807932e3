// SPDX-License-Identifier: Apache-2.0
//
// Asks programs by the shell. Invariant: no more than kMost is kept.
#include "info/doctor/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

namespace meshmem::doctor {

std::string trimmed(std::string text) {
  const char* blanks = " \t\r\n";
  text.erase(text.find_last_not_of(blanks) + 1);
  text.erase(0, std::min(text.find_first_not_of(blanks), text.size()));
  return text;
}

int version_in(const std::string& text) {
  int major = 0, minor = 0;
  (void)std::sscanf(text.c_str(), "%d.%d", &major, &minor);
  return 1000 * major + 10 * minor;
}

std::string output_of(const std::string& program, const std::string& words) {
  constexpr std::size_t kMost = 64 << 10;
  if (program.find('\'') != std::string::npos) return "";
  const std::string command = fmt::format("timeout 5 '{}' {} </dev/null", program, words);
  const std::unique_ptr<FILE, int (*)(FILE*)> output(::popen(command.c_str(), "re"), ::pclose);
  std::string text;
  char line[256] = "";
  while (output && std::fgets(line, sizeof line, output.get()))  // all, or it might not end well
    if (text.size() < kMost) text += line;
  return text;
}

}  // namespace meshmem::doctor
