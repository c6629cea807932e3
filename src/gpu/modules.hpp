// SPDX-License-Identifier: Apache-2.0
//
// The translation units of device code in this process. Each has a State of its own and a function
// that says where; they come with the program, or with a library that it loads at any time. One
// that the program loads by hand has no such function: its State is looked up by name.
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
  // A module that the program has loaded by hand (device_target.hpp), which is told until the state
  // is withdrawn. Why it cannot be.
  std::optional<std::string> add_loaded(void* module);
  // Its kernels find no job any more. False if it is not known.
  bool remove_loaded(void* module);
  // To all modules, now and those that come later. Of kernels on `device`.
  void publish(const device::State& state, int device);
  void publish_again();
  // Calls it when there is a module that is not the library's own: now, or later.
  void when_programs_have_kernels(std::function<void()> call);
  bool programs_have_kernels();
  // Modules that come later are told nothing.
  void withdraw();

 private:
  bool try_tell(Place place) const;
  std::optional<std::string> try_tell_loaded(void* module) const;
  static bool is_of_program(Place place);
  void tell_all();

  std::mutex mutex_;
  std::vector<Place> places_;
  std::vector<void*> loaded_;  // none where there is no state
  std::optional<device::State> state_;
  int device_ = -1;
  std::function<void()> call_for_programs_;
};

// Lives for ever: modules say goodbye while the process ends.
Modules& modules();

}  // namespace meshmem

#endif  // MESHMEM_GPU_MODULES_HPP_
