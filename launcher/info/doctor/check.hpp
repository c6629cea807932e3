// SPDX-License-Identifier: Apache-2.0
//
// The result of one check of `meshmem-info --doctor`, and how all of them are printed.
// Invariant: a check that is not OK names what to do. Made by the families of checks (checks.hpp),
// printed by the doctor.
#ifndef MESHMEM_INFO_DOCTOR_CHECK_HPP_
#define MESHMEM_INFO_DOCTOR_CHECK_HPP_

#include <string>
#include <string_view>
#include <vector>

namespace meshmem::doctor {

// warn: jobs run, but slower or with less than they could have. bad: jobs do not start, or fail.
enum class Verdict { ok, warn, bad };

struct Check {
  std::string name;
  Verdict verdict;
  std::string says;
  std::string fix;  // a command, or what to set; empty where all is well
  // Of a job: who says so. Empty: all of its nodes, or the one machine that is checked.
  std::vector<std::string> nodes{};
};
using Checks = std::vector<Check>;

inline Check ok(std::string name, std::string says) {
  return {std::move(name), Verdict::ok, std::move(says), "", {}};
}
inline Check warn(std::string name, std::string says, std::string fix) {
  return {std::move(name), Verdict::warn, std::move(says), std::move(fix), {}};
}
inline Check bad(std::string name, std::string says, std::string fix) {
  return {std::move(name), Verdict::bad, std::move(says), std::move(fix), {}};
}

std::string_view word_of(Verdict verdict);  // "OK", "WARN", "BAD"
bool has_bad(const Checks& checks);

// A line for each check and one more for each fix. table_of: and a last one that counts.
std::string lines_of(const Checks& checks);
std::string table_of(const Checks& checks);
// {"checks": [{"name": ..., "verdict": ..., "says": ..., "fix": ...}, ...], "bad": 0}
// A check of some nodes of a job has "nodes": [...] too.
std::string json_of(const Checks& checks);

}  // namespace meshmem::doctor

#endif  // MESHMEM_INFO_DOCTOR_CHECK_HPP_
