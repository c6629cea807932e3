// SPDX-License-Identifier: Apache-2.0
//
// The shared part of the larger examples: options on the command line, errors that end all PEs
// together, and memory for all of them. Included by most examples from 05_wordcount on, which are
// linked with arguments.cpp, as in: oshc++ 05_wordcount.cpp arguments.cpp
// Invariant: whatever throws here throws on every PE or on none, so that no PE is left waiting for
// one that has gone.
#ifndef MESHMEM_EXAMPLES_ARGUMENTS_HPP
#define MESHMEM_EXAMPLES_ARGUMENTS_HPP

#include <shmem.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace examples {

// The program's name, which every error begins with. Arguments sets it.
inline std::string program_name;

// All PEs throw it to end the program, after one PE has printed the reason.
struct Stop {
  int status;
};

// The body of main() of each example; returns the exit status.
inline int run_between_init_and_finalize(void (*run)(int, char**), int argc, char** argv) {
  int status = 0;
  shmem_init();
  try {
    run(argc, argv);
  } catch (const Stop& stop) {
    status = stop.status;
  }
  shmem_finalize();
  return status;
}

// Ends the program on all PEs if any of them has an error (a text that is not empty). All PEs call
// it. The lowest PE with an error prints it: if all have the same one, it is printed once.
inline void agree(const std::string& error) {
  static int mine;    // Both are static and so symmetric, as a
  static int lowest;  // reduction needs them.
  shmem_sync_all();   // All PEs have read `lowest` of the last call, so it may be overwritten now.
  mine = error.empty() ? shmem_n_pes() : shmem_my_pe();
  shmem_int_min_reduce(SHMEM_TEAM_WORLD, &lowest, &mine, 1);
  if (lowest == shmem_n_pes()) return;
  if (lowest == shmem_my_pe())
    std::fprintf(stderr, "%s: %s\n", program_name.c_str(), error.c_str());
  throw Stop{1};
}

// "1 PE", "4 PEs".
inline std::string number_of_pes() {
  return std::to_string(shmem_n_pes()) + (shmem_n_pes() == 1 ? " PE" : " PEs");
}

// Zeroed symmetric memory for `count` objects. All PEs call it with the same count.
template <typename T>
T* allocate(std::size_t count) {
  auto* memory = static_cast<T*>(shmem_calloc(count == 0 ? 1 : count, sizeof(T)));
  agree(memory ? ""
               : "no symmetric memory for " + std::to_string(count) + " objects of " +
                     std::to_string(sizeof(T)) + " bytes; set SHMEM_SYMMETRIC_SIZE to more");
  return memory;
}

// Ends the program on all PEs because of a mistake in the command line, which all PEs have found.
[[noreturn]] inline void refuse(const std::string& error) {
  if (shmem_my_pe() == 0) {
    std::fprintf(stderr, "%s: %s; --help lists what there is\n", program_name.c_str(),
                 error.c_str());
  }
  throw Stop{2};
}

// The command line, read by CLI11 in arguments.cpp. Declare the options, then parse(), which writes
// what was given into the variables. Their earlier values are the defaults.
class Arguments {
 public:
  explicit Arguments(const std::string& what_the_program_does);
  ~Arguments();

  // An option that takes a whole number from `least` to `most`.
  template <typename Number>
  void number(const std::string& name, Number& value, long least, long most,
              const std::string& what) {
    add_number(name, std::to_string(value), least, most, what,
               [&value](long given) { value = static_cast<Number>(given); });
  }
  // The same for a default that is not a number; `what` says what happens without the option.
  void number_or_none(const std::string& name, long& value, long least, long most,
                      const std::string& what);
  void text(const std::string& name, std::string& value, const std::string& what);
  void flag(const std::string& name, bool& value, const std::string& what);
  // Arguments that are not options.
  void files(std::vector<std::string>& paths, const std::string& what);

  // All PEs have the same arguments, so they find the same errors; PE 0 prints them.
  void parse(int argc, char** argv);

 private:
  void add_number(const std::string& name, const std::string& otherwise, long least, long most,
                  const std::string& what, std::function<void(long)> set);

  std::unique_ptr<CLI::App> app_;
};

}  // namespace examples

#endif
