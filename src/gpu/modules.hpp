// SPDX-License-Identifier: Apache-2.0
//
// The modules of device code in this process: translation units of the program and of libraries
// that it loads at any time. Each has a State of its own and a function that returns its place. A
// module that the program loads by hand has no such function: its State is looked up by name.
// Invariant: a module always has the last state that was published, once the device has the module.
// Static initializers add modules, before main and also later, so this works before the library is
// initialized.
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
  // Returns where a module's State is on the current device; null if the device does not have the
  // module (yet).
  using FindState = void* (*)();

  void add(FindState find);
  void remove(FindState find);
  // Adds a module that the program has loaded by hand (device_target.hpp), which gets the state
  // until it is withdrawn. If it cannot get the state, returns the reason.
  std::optional<std::string> add_loaded(void* module);
  // Removes one, whose kernels then find no job. Returns false if it is not known.
  bool remove_loaded(void* module);
  // Gives the state, for kernels on `device`, to all modules and to those that come later.
  void publish(const device::State& state, int device);
  // Gives the last state to all modules again, also to those that HIP did not know before.
  void publish_again();
  // Calls `call` now if there are modules of the program (not the library's own), and again for
  // each that comes later.
  void when_programs_have_kernels(std::function<void()> call);
  bool programs_have_kernels();
  // Takes the state back from all modules. Modules that come later get none.
  void withdraw();

 private:
  bool try_write(FindState find, const device::State& state) const;
  // Writes `state` into a module that the program has loaded. Returns why it cannot.
  std::optional<std::string> try_write_loaded(void* module, const device::State& state) const;
  static bool is_of_program(FindState find);
  void write_all();

  std::mutex mutex_;
  std::vector<FindState> finders_;
  std::vector<void*> loaded_;  // empty while there is no state
  std::optional<device::State> state_;
  int device_ = -1;
  std::function<void()> call_for_programs_;
};

// Lives for ever: modules are removed while the process ends.
Modules& modules();

}  // namespace meshmem

#endif  // MESHMEM_GPU_MODULES_HPP_
