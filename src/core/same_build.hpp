// SPDX-License-Identifier: Apache-2.0
//
// Which build of the library a PE runs. PEs of different builds would read each other's memory and
// messages wrongly, or wait for each other for ever.
// Invariant: two builds have one name only if their sources are the same, and so is the layout of
// what PEs share. Compilers may differ, so machines may have builds of their own. Called by
// start-up, before a PE believes anything else that another has told.
#ifndef MESHMEM_CORE_SAME_BUILD_HPP_
#define MESHMEM_CORE_SAME_BUILD_HPP_

#include <cstddef>
#include <string>
#include <string_view>

namespace meshmem {

inline constexpr std::size_t kMostBuildBytes = 63;

// "0.1.0-cpu-<hash of the sources>-<hash of the layout>".
const std::string& build_name();

// A name that may be printed; anything may have come from another process.
bool is_build_name(std::string_view text);

// The line of the PE that does not run the build of PE `pe`, which has told `theirs`.
std::string other_build_line(int pe, std::string_view theirs);

}  // namespace meshmem

#endif  // MESHMEM_CORE_SAME_BUILD_HPP_
