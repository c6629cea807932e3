// SPDX-License-Identifier: Apache-2.0
// An error that stops oshrun before its job runs: a line for the user and an exit status.
// Invariant: the text is one line without a newline and says what is wrong.
// Thrown by every part of oshrun, caught and printed once, in main().
#ifndef MESHMEM_OSHRUN_FAILURE_HPP_
#define MESHMEM_OSHRUN_FAILURE_HPP_

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace meshmem {

inline constexpr int kUsageError = 2;
inline constexpr int kSystemError = 1;

class Failure : public std::runtime_error {
 public:
  Failure(int status, const std::string& text) : std::runtime_error(text), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

// Ends oshrun because of a mistake of the user's.
template <typename... Values>
[[noreturn]] void refuse(fmt::format_string<Values...> text, Values&&... values) {
  throw Failure(kUsageError, fmt::format(text, std::forward<Values>(values)...));
}

// Ends oshrun because the system refuses something that it needs.
template <typename... Values>
[[noreturn]] void give_up(fmt::format_string<Values...> text, Values&&... values) {
  throw Failure(kSystemError, fmt::format(text, std::forward<Values>(values)...));
}

// Returns a system call's result, or throws Failure with errno's text if the call failed.
template <typename Result>
Result check(Result result, const char* doing) {
  if (result < 0) give_up("cannot {}: {}", doing, std::strerror(errno));
  return result;
}

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_FAILURE_HPP_
