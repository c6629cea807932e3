// SPDX-License-Identifier: Apache-2.0
//
// The list of modules. Invariant: a state is written with the PE's device current, whichever thread
// loads the module, and by a stream of the library's own. So the write does not wait for a kernel
// of the program that waits for this thread.
#include "gpu/modules.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/error.hpp"
#include "gpu/device_target.hpp"
#include "gpu/device_transfer.hpp"

// The linker's names for where the library begins and ends.
extern "C" [[gnu::visibility("hidden")]] const char __ehdr_start, _end;  // NOLINT(*-reserved-*)

namespace meshmem {

Modules& modules() {
  static Modules& instance = *new Modules;
  return instance;
}

bool Modules::try_write(Place place) const {
  const OnDevice current(device_);
  void* const there = place();
  if (there) write_for_kernels(there, &*state_, sizeof *state_);
  return there != nullptr;
}

// Finds the state by the name that the compiler gives module_state (device/module.hpp).
std::optional<std::string> Modules::try_write_loaded(void* module) const {
  constexpr const char* kState =
      kDevicesAreAmd ? "_ZN7meshmem6deviceL12module_stateE" : "_ZN7meshmem6device12module_stateE";
  const OnDevice current(device_);
  void* there = nullptr;
  std::size_t bytes = 0;
  const hipError_t error = find_in_module(module, kState, &there, &bytes);
  if (error != hipSuccess) {
    (void)hipGetLastError();
    return fmt::format(
        "on device {} the module has no state of this library ({}): it has no code that calls the "
        "library, was loaded for another device, or is of several sources that -fgpu-rdc or "
        "-rdc=true has linked",
        device_, hipGetErrorString(error));
  }
  if (bytes != sizeof *state_) {
    return fmt::format(
        "the module was compiled with headers of another version of meshmem (its state has {} "
        "bytes, the library's {}); compile it again with this library's oshhip",
        bytes, sizeof *state_);
  }
  write_for_kernels(there, &*state_, sizeof *state_);
  return std::nullopt;
}

std::optional<std::string> Modules::add_loaded(void* module) {
  const std::lock_guard lock(mutex_);
  if (!state_) return "this PE's device has no part in the job";
  if (auto why = try_write_loaded(module)) return why;
  if (std::find(loaded_.begin(), loaded_.end(), module) != loaded_.end()) return std::nullopt;
  loaded_.push_back(module);
  if (call_for_programs_) call_for_programs_();
  return std::nullopt;
}

bool Modules::remove_loaded(void* module) {
  const std::lock_guard lock(mutex_);
  if (std::erase(loaded_, module) == 0) return false;
  const device::State state = std::exchange(*state_, device::State{});
  (void)try_write_loaded(module);
  *state_ = state;
  return true;
}

// A module that the program has unloaded by now is found no more.
void Modules::write_all() {
  std::erase_if(loaded_, [this](void* module) { return try_write_loaded(module).has_value(); });
  for (const Place place : places_) {
    if (try_write(place)) continue;
    fatal("a module of device code is not on device {}: it was compiled for another kind of GPU",
          device_);
  }
}

void Modules::add(Place place) {
  const std::lock_guard lock(mutex_);
  places_.push_back(place);
  if (call_for_programs_ && is_of_program(place)) call_for_programs_();
  if (state_ && !try_write(place))
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
  return !loaded_.empty() || std::any_of(places_.begin(), places_.end(), is_of_program);
}

void Modules::remove(Place place) {
  const std::lock_guard lock(mutex_);
  std::erase(places_, place);
}

void Modules::publish(const device::State& state, int device) {
  const std::lock_guard lock(mutex_);
  state_ = state;
  device_ = device;
  write_all();
}

void Modules::publish_again() {
  const std::lock_guard lock(mutex_);
  if (state_) write_all();
}

// Kernels that come later find no job, and end with a line.
void Modules::withdraw() {
  const std::lock_guard lock(mutex_);
  if (!state_) return;
  *state_ = device::State{};
  for (const Place place : places_) try_write(place);
  for (void* const module : loaded_) (void)try_write_loaded(module);
  loaded_.clear();
  state_.reset();
}

}  // namespace meshmem
