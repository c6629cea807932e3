// SPDX-License-Identifier: Apache-2.0
// Handles of the API (streams, events, graphs): which are alive, and their objects.
// Invariant: an unknown or destroyed handle is never dereferenced. An object lives on while a
// caller uses it. Used by streams.cpp, events.cpp and graphs.cpp.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

namespace hip_on_cpu {

template <typename Handle, typename Object>
class Handles {
 public:
  Handle add(std::shared_ptr<Object> object) {
    const auto handle = reinterpret_cast<Handle>(object.get());
    const std::lock_guard lock(mutex_);
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  std::shared_ptr<Object> find(Handle handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  std::shared_ptr<Object> remove(Handle handle) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) return nullptr;
    auto object = std::move(found->second);
    objects_.erase(found);
    return object;
  }
  template <typename Function>
  void for_each(Function function) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [handle, object] : objects_) function(object);
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<Handle, std::shared_ptr<Object>> objects_;
};

}  // namespace hip_on_cpu
