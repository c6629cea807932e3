// SPDX-License-Identifier: Apache-2.0
// Answers options that other launchers have (mpirun, mpiexec, prterun, srun).
// Invariant: no option is in silence taken for something else. One that means the same here is
// understood, one that changes nothing here is left out, every other one is refused by name.
// Called by options.cpp.
#ifndef MESHMEM_OSHRUN_FOREIGN_OPTIONS_HPP_
#define MESHMEM_OSHRUN_FOREIGN_OPTIONS_HPP_

#include <string_view>

namespace meshmem {

enum class ForeignAnswer { same_as, left_out, refused };

struct ForeignOption {
  std::string_view name;  // without its dashes: launchers take one or two
  ForeignAnswer answer;
  std::string_view text;  // same_as: our option; refused: what to write instead
};

// nullptr: nobody's that we know of.
const ForeignOption* find_foreign_option(std::string_view name);

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_FOREIGN_OPTIONS_HPP_
