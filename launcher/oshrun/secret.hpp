// SPDX-License-Identifier: Apache-2.0
//
// A secret that only the processes of a job know. They get it by their environment, which only
// their user can read. Used by the servers of oshrun.
#ifndef MESHMEM_OSHRUN_SECRET_HPP_
#define MESHMEM_OSHRUN_SECRET_HPP_

#include <fmt/format.h>
#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "failure.hpp"

namespace meshmem {

// 128 random bits of the kernel's, as 32 digits.
inline std::string make_secret() {
  std::uint64_t words[2];
  if (::getrandom(words, sizeof(words), 0) != sizeof(words))
    throw Failure(kSystemError, fmt::format("cannot get random bits: {}", std::strerror(errno)));
  return fmt::format("{:016x}{:016x}", words[0], words[1]);
}

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_SECRET_HPP_
