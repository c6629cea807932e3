// SPDX-License-Identifier: Apache-2.0
//
// The translation units of device code in this process. Each has a State of its own and a function
// that says where it is; they come with the program, or with a library that it loads at any time. A
// module that the program loads by hand has no such function: its State is looked up by name.
// Invariant: a module always has the last state that was published, once the device has the module.
// Filled by static initializers, before main as well as after, so it needs nothing of the library
// to be initialized.
#ifndef MESHMEM_GPU_MODULES_HPP_
#define MESHMEM_GPU_MODULES_HPP_

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "device/state.hpp"

namespace meshmem {

class Modules {
 public:
  using Place = void* (*)();  // on the current device; null if that does not have the module (yet)

  void add(Place place);
  void remove(Place place);
  // Adds a module that the program has loaded by hand (device_target.hpp), which gets the state
  // until it is withdrawn. Returns why that cannot be.
  std::optional<std::string> add_loaded(void* module);
  // Removes one: its kernels find no job any more. False if it is not known.
  bool remove_loaded(void* module);
  // Gives the state, for kernels on `device`, to all modules and to those that come later.
  void publish(const device::State& state, int device);
  void publish_again();
  // Calls `call` when there is a module that is not the library's own: now, or later.
  void when_programs_have_kernels(std::function<void()> call);
  bool programs_have_kernels();
  // Takes the state back from all modules. Modules that come later get none.
  void withdraw();

 private:
  bool try_write(Place place) const;
  std::optional<std::string> try_write_loaded(void* module) const;
  static bool is_of_program(Place place);
  void write_all();

  std::mutex mutex_;
  std::vector<Place> places_;
  std::vector<void*> loaded_;  // empty while there is no state
  std::optional<device::State> state_;
  int device_ = -1;
  std::function<void()> call_for_programs_;
};

// Lives for ever: modules are removed while the process ends.
Modules& modules();

}  // namespace meshmem

#endif  // MESHMEM_GPU_MODULES_HPP_
