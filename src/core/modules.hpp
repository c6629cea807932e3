// SPDX-License-Identifier: Apache-2.0
//
// The translation units of device code in this process. Each has a State of its own and a function
// that fills it; they come with the program, or with a library that it loads at any time.
// Invariant: a module always has the last state that was published. Filled by static initializers,
// before main as well as after, so it needs nothing of the library to be initialized.
#ifndef MESHMEM_CORE_MODULES_HPP_
#define MESHMEM_CORE_MODULES_HPP_

#include <mutex>
#include <optional>
#include <vector>

#include "device/state.hpp"

namespace meshmem {

class Modules {
 public:
  using Upload = void (*)(const void* state);

  void add(Upload upload);
  void remove(Upload upload);
  // To all modules, now and those that come later. Of kernels on `device`.
  void publish(const device::State& state, int device);
  void publish_again();
  // Modules that come later are told nothing.
  void withdraw();

 private:
  void upload_to(Upload upload);

  std::mutex mutex_;
  std::vector<Upload> uploads_;
  std::optional<device::State> state_;
  int device_ = -1;
};

// Lives for ever: modules say goodbye while the process ends.
Modules& modules();

}  // namespace meshmem

#endif  // MESHMEM_CORE_MODULES_HPP_
