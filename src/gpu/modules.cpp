// SPDX-License-Identifier: Apache-2.0
//
// The list of modules. Invariant: a state is written with the PE's device current, whichever thread
// loads the module, and by a stream of the library's own: a kernel of the program that waits for
// this thread is not waited for.
#include "gpu/modules.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/error.hpp"
#include "gpu/hip_error.hpp"
#include "gpu/kernel_memory.hpp"

// The linker's names for where the library begins and ends.
extern "C" [[gnu::visibility("hidden")]] const char __ehdr_start, _end;  // NOLINT(*-reserved-*)

namespace meshmem {

Modules& modules() {
  static Modules& instance = *new Modules;
  return instance;
}

bool Modules::try_tell(Place place) const {
  const OnDevice current(device_);
  void* const there = place();
  if (there) write_for_kernels(there, &*state_, sizeof *state_);
  return there != nullptr;
}

void Modules::tell_all() const {
  for (const Place place : places_) {
    if (try_tell(place)) continue;
    fatal("a module of device code is not on device {}: it was compiled for another kind of GPU",
          device_);
  }
}

void Modules::add(Place place) {
  const std::lock_guard lock(mutex_);
  places_.push_back(place);
  if (call_for_programs_ && is_of_program(place)) call_for_programs_();
  if (state_ && !try_tell(place))
    debug("a module was loaded that HIP does not know yet; call shmemx_module_init()");
}

// Asked of every module at start-up: dladdr() would look through all symbols each time.
bool Modules::is_of_program(Place place) {
  const auto address = reinterpret_cast<std::uintptr_t>(place);
  return address < reinterpret_cast<std::uintptr_t>(&__ehdr_start) ||
         address >= reinterpret_cast<std::uintptr_t>(&_end);
}

void Modules::when_programs_have_kernels(std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  call_for_programs_ = std::move(call);
  if (std::any_of(places_.begin(), places_.end(), is_of_program)) call_for_programs_();
}

bool Modules::programs_have_kernels() {
  const std::lock_guard lock(mutex_);
  return std::any_of(places_.begin(), places_.end(), is_of_program);
}

void Modules::remove(Place place) {
  const std::lock_guard lock(mutex_);
  std::erase(places_, place);
}

void Modules::publish(const device::State& state, int device) {
  const std::lock_guard lock(mutex_);
  state_ = state;
  device_ = device;
  tell_all();
}

void Modules::publish_again() {
  const std::lock_guard lock(mutex_);
  if (state_) tell_all();
}

// Kernels that come later find no job, and end with a line.
void Modules::withdraw() {
  const std::lock_guard lock(mutex_);
  if (!state_) return;
  *state_ = device::State{};
  for (const Place place : places_) try_tell(place);
  state_.reset();
}

}  // namespace meshmem
