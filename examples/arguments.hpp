// SPDX-License-Identifier: Apache-2.0
//
// What the larger examples share: options on the command line, errors that end all PEs together,
// and memory for all of them. Included by most examples from 05_wordcount on.
// Invariant: whatever throws here throws on every PE or on none, so that no PE is left waiting for
// one that has gone.
#ifndef MESHMEM_EXAMPLES_ARGUMENTS_HPP
#define MESHMEM_EXAMPLES_ARGUMENTS_HPP

#include <shmem.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace examples {

// The program's name, which every error begins with. Arguments sets it.
inline std::string program_name;

// Thrown by all PEs; what there was to say has been said.
struct Stop {
  int status;
};

// What main() of each example does; returns the exit status.
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
// it. The lowest PE with an error says it: if all have the same one, it is printed once.
inline void agree(const std::string& error) {
  static int mine;    // Both are symmetric, being static: reductions
  static int lowest;  // take nothing else.
  shmem_sync_all();  // All have read `lowest` of the last time; from here on it may be overwritten.
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

// The command line. Each call takes its option out; finish() complains about what is left.
// All PEs have the same arguments, so they find the same errors.
class Arguments {
 public:
  Arguments(int argc, char** argv, const std::string& usage) : words_(argv + 1, argv + argc) {
    const std::string path = argv[0];
    program_name = path.substr(path.rfind('/') + 1);
    if (flag("--help")) {
      if (shmem_my_pe() == 0) std::printf("%s", usage.c_str());
      throw Stop{0};
    }
  }

  bool flag(const std::string& name) {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (words_[i] != name) continue;
      words_.erase(words_.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    return false;
  }

  // The word after `name`, or `otherwise` if `name` is not there.
  std::string text(const std::string& name, std::string otherwise) {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (words_[i] != name) continue;
      if (i + 1 == words_.size()) fail(name + " needs a value");
      otherwise = words_[i + 1];
      auto option = words_.begin() + static_cast<std::ptrdiff_t>(i);
      words_.erase(option, option + 2);
      break;
    }
    return otherwise;
  }

  long number(const std::string& name, long otherwise, long least, long most) {
    const std::string word = text(name, std::to_string(otherwise));
    char* end = nullptr;
    errno = 0;
    const long value = std::strtol(word.c_str(), &end, 10);
    if (word.empty() || *end != '\0' || errno != 0 || value < least || value > most) {
      fail(name + " takes a whole number from " + std::to_string(least) + " to " +
           std::to_string(most) + ", not '" + word + "'");
    }
    return value;
  }

  // All that is not an option.
  std::vector<std::string> files() {
    for (const std::string& word : words_) {
      if (word.size() > 1 && word[0] == '-') fail("there is no option '" + word + "'");
    }
    return std::exchange(words_, {});
  }

  void finish() {
    const std::vector<std::string> left = files();
    if (!left.empty()) fail("'" + left[0] + "' is one argument too many");
  }

 private:
  [[noreturn]] void fail(const std::string& error) {
    if (shmem_my_pe() == 0) {
      std::fprintf(stderr, "%s: %s; --help lists what there is\n", program_name.c_str(),
                   error.c_str());
    }
    throw Stop{2};
  }

  std::vector<std::string> words_;
};

}  // namespace examples

#endif
