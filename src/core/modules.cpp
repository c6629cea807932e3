// SPDX-License-Identifier: Apache-2.0
//
// The list of modules. Invariant: an upload runs with the PE's device current, whichever thread loads
// the module.
#include "core/modules.hpp"

#include "memory/hip_error.hpp"

namespace meshmem {

Modules& modules() {
  static Modules& instance = *new Modules;
  return instance;
}

void Modules::upload_to(Upload upload) {
  const OnDevice current(device_);
  upload(&*state_);
}

void Modules::add(Upload upload) {
  const std::lock_guard lock(mutex_);
  uploads_.push_back(upload);
  if (state_) upload_to(upload);
}

void Modules::remove(Upload upload) {
  const std::lock_guard lock(mutex_);
  std::erase(uploads_, upload);
}

void Modules::publish(const device::State& state, int device) {
  const std::lock_guard lock(mutex_);
  state_ = state;
  device_ = device;
  for (const Upload upload : uploads_) upload_to(upload);
}

void Modules::publish_again() {
  const std::lock_guard lock(mutex_);
  if (!state_) return;
  for (const Upload upload : uploads_) upload_to(upload);
}

void Modules::withdraw() {
  const std::lock_guard lock(mutex_);
  state_.reset();
}

}  // namespace meshmem
