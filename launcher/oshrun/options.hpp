// SPDX-License-Identifier: Apache-2.0
// The command line of oshrun as a value.
// Invariant: an Options that parse_options() returned is usable: pes >= 1 on this machine, and
// either a program or another oshrun is named. Made by main(), read by everything else.
#ifndef MESHMEM_OSHRUN_OPTIONS_HPP_
#define MESHMEM_OSHRUN_OPTIONS_HPP_

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace meshmem {

inline constexpr int kMaxPes = 65536;

struct Options {
  int pes = 0;                       // over several machines 0: as many as hosts or hostfile say
  std::vector<std::string> exports;  // NAME or NAME=VALUE, in the order given
  std::optional<std::chrono::duration<double>> timeout;
  bool tag_output = false;
  std::string working_folder;
  std::optional<pid_t> status_of;  // another oshrun, whose table is printed; nothing is run then
  int fake_nodes = 1;
  std::string hosts;        // "a:4,b:4"
  std::string hostfile;     // a file with the same; if both are empty, this machine
  bool allow_root = false;  // for launchers that do not run as root unless told to
  bool oversubscribe = false;
  std::vector<std::string> program;  // its name and its arguments

  bool is_for_several_machines() const { return !hosts.empty() || !hostfile.empty(); }
};

// Returns nullopt if the text is not a number from `least` to `most`.
std::optional<long> parse_number(std::string_view text, long least, long most);

// Returns nullopt if the user asked only for text (--help, --version), which is then printed.
// Throws Failure when the command line is wrong.
std::optional<Options> parse_options(int argc, char** argv);

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_OPTIONS_HPP_
