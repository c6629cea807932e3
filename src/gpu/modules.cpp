// SPDX-License-Identifier: Apache-2.0
//
// The list of modules. Invariant: a state is written with the PE's device current, whichever thread
// loads the module, and on a stream of the library. On a program's stream, behind a kernel that
// waits for this thread, the write would never end.
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

bool Modules::try_write(FindState find, const device::State& state) const {
  const OnDevice current(device_);
  void* const there = find();
  if (there) write_for_kernels(there, &state, sizeof state);
  return there != nullptr;
}

// Finds the state by the name that the compiler gives module_state (device/module.hpp).
std::optional<std::string> Modules::try_write_loaded(void* module,
                                                     const device::State& state) const {
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
  if (bytes != sizeof state) {
    return fmt::format(
        "the module was compiled with headers of another version of meshmem (its state has {} "
        "bytes, the library's {}); compile it again with this library's oshhip",
        bytes, sizeof state);
  }
  write_for_kernels(there, &state, sizeof state);
  return std::nullopt;
}

std::optional<std::string> Modules::add_loaded(void* module) {
  const std::lock_guard lock(mutex_);
  if (!state_) return "this PE's device has no part in the job";
  if (auto why = try_write_loaded(module, *state_)) return why;
  if (std::find(loaded_.begin(), loaded_.end(), module) != loaded_.end()) return std::nullopt;
  loaded_.push_back(module);
  if (call_for_programs_) call_for_programs_();
  return std::nullopt;
}

bool Modules::remove_loaded(void* module) {
  const std::lock_guard lock(mutex_);
  if (std::erase(loaded_, module) == 0) return false;
  (void)try_write_loaded(module, device::State{});
  return true;
}

// Forgets the modules that the program has unloaded: HIP no longer finds their state.
void Modules::write_all() {
  std::erase_if(loaded_,
                [this](void* module) { return try_write_loaded(module, *state_).has_value(); });
  for (const FindState find : finders_) {
    if (try_write(find, *state_)) continue;
    fatal("a module of device code is not on device {}: it was compiled for another kind of GPU",
          device_);
  }
}

void Modules::add(FindState find) {
  const std::lock_guard lock(mutex_);
  finders_.push_back(find);
  if (call_for_programs_ && is_of_program(find)) call_for_programs_();
  if (state_ && !try_write(find, *state_))
    debug("a module was loaded that HIP does not know yet; call shmemx_module_init()");
}

// True if the module is not the library's own. Not by dladdr(), which looks through all symbols:
// start-up asks this of every module.
bool Modules::is_of_program(FindState find) {
  const auto address = reinterpret_cast<std::uintptr_t>(find);
  return address < reinterpret_cast<std::uintptr_t>(&__ehdr_start) ||
         address >= reinterpret_cast<std::uintptr_t>(&_end);
}

void Modules::when_programs_have_kernels(std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  call_for_programs_ = std::move(call);
  if (std::any_of(finders_.begin(), finders_.end(), is_of_program)) call_for_programs_();
}

bool Modules::programs_have_kernels() {
  const std::lock_guard lock(mutex_);
  return !loaded_.empty() || std::any_of(finders_.begin(), finders_.end(), is_of_program);
}

void Modules::remove(FindState find) {
  const std::lock_guard lock(mutex_);
  std::erase(finders_, find);
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

// Kernels that start later find no job, and end with an error line.
void Modules::withdraw() {
  const std::lock_guard lock(mutex_);
  if (!state_) return;
  const device::State none{};
  for (const FindState find : finders_) try_write(find, none);
  for (void* const module : loaded_) (void)try_write_loaded(module, none);
  loaded_.clear();
  state_.reset();
}

}  // namespace meshmem
