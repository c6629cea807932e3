// SPDX-License-Identifier: Apache-2.0
// See l2.hpp.
#include "l2.hpp"

#include <algorithm>

#include "memory.hpp"

namespace amd_gpu {
namespace {

constexpr std::size_t kMostLines = 64 * 1024;  // 8 MiB, as MI200 has

std::uint8_t* at(std::uint64_t address) { return reinterpret_cast<std::uint8_t*>(address); }

// Calls function(address, bytes, number of bytes before) for the part of an access in each line.
template <typename Function>
void for_each_line(std::uint64_t address, unsigned bytes, std::uint64_t line, Function function) {
  const auto here = static_cast<unsigned>(std::min<std::uint64_t>(bytes, line - address % line));
  function(address, here, 0u);
  if (here < bytes) function(address + here, bytes - here, here);
}

}  // namespace

std::uint64_t load_from_memory(std::uint64_t address, unsigned bytes) {
  switch (bytes) {
    case 1:
      return load_as<std::uint8_t>(at(address));
    case 2:
      return load_as<std::uint16_t>(at(address));
    case 4:
      return load_as<std::uint32_t>(at(address));
    case 8:
      return load_as<std::uint64_t>(at(address));
    default: {
      std::uint64_t value = 0;
      std::memcpy(&value, at(address), bytes);
      return value;
    }
  }
}
void store_to_memory(std::uint64_t address, unsigned bytes, std::uint64_t value) {
  switch (bytes) {
    case 1:
      return store_as(at(address), static_cast<std::uint8_t>(value));
    case 2:
      return store_as(at(address), static_cast<std::uint16_t>(value));
    case 4:
      return store_as(at(address), static_cast<std::uint32_t>(value));
    case 8:
      return store_as(at(address), value);
    default:
      std::memcpy(at(address), &value, bytes);
  }
}

L2::Line& L2::line_of(std::uint64_t address, Caching caching) {
  if (Line* const line = find(address)) return *line;
  if (lines_.size() >= kMostLines) {
    for (auto& [number, line] : lines_) write(number, line);
    lines_.clear();
    dirty_.clear();
  }
  Line& line = lines_[address / kLine];
  line.caching = caching;
  return line;
}

L2::Line* L2::find(std::uint64_t address) {
  const auto found = lines_.find(address / kLine);
  return found == lines_.end() ? nullptr : &found->second;
}

// Writes by the widest accesses whose bytes are all dirty: bytes that were stored at once arrive at
// once.
void L2::write(std::uint64_t number, Line& line) {
  if (line.is_dirty.none()) return;
  for (std::uint64_t n = 0; n < kLine;) {
    unsigned bytes = 8;
    const auto is_all_dirty = [&] {
      for (unsigned i = 0; i < bytes; ++i)
        if (!line.is_dirty[n + i]) return false;
      return true;
    };
    while (bytes > 1 && (n % bytes != 0 || !is_all_dirty())) bytes /= 2;
    if (line.is_dirty[n]) {
      std::uint64_t value = 0;
      std::memcpy(&value, &line.bytes[n], bytes);
      store_to_memory(number * kLine + n, bytes, value);
    }
    n += bytes;
  }
  line.is_dirty.reset();
}

void L2::clean(const Dirty& dirty) {
  const auto found = lines_.find(dirty.line);
  if (found == lines_.end() || found->second.dirty_since != dirty.since) return;
  write(dirty.line, found->second);
  if (found->second.caching == Caching::kOthers) {
    may_be_stale_ = true;
  } else {
    lines_.erase(found);
  }
}

std::uint64_t L2::load_in_line(std::uint64_t address, unsigned bytes, Caching caching,
                               Scope scope) {
  const std::uint64_t first = address % kLine;
  if (caching == Caching::kOthers && !is_passed_by(scope)) {
    Line& line = line_of(address, caching);
    may_be_stale_ = true;
    for (std::uint64_t n = 0; n < kLine && !line.has.all(); n += 8) {
      const std::uint64_t word = load_from_memory(address - first + n, 8);
      for (unsigned i = 0; i < 8; ++i)
        if (!line.has[n + i]) line.bytes[n + i] = static_cast<std::uint8_t>(word >> 8 * i);
    }
    line.has.set();
    std::uint64_t value = 0;
    std::memcpy(&value, &line.bytes[first], bytes);
    return value;
  }
  std::uint64_t value = load_from_memory(address, bytes);
  Line* const line = find(address);
  if (line == nullptr) return value;
  line->has = line->is_dirty;
  for (unsigned i = 0; i < bytes; ++i)
    if (line->is_dirty[first + i])
      reinterpret_cast<std::uint8_t*>(&value)[i] = line->bytes[first + i];
  return value;
}

std::uint64_t L2::load(std::uint64_t address, unsigned bytes, Caching caching, Scope scope) {
  if (caching == Caching::kCoherent) return load_from_memory(address, bytes);
  std::uint64_t value = 0;
  const std::lock_guard lock(mutex_);
  for_each_line(address, bytes, kLine, [&](std::uint64_t here, unsigned count, unsigned before) {
    value |= load_in_line(here, count, caching, scope) << 8 * before;
  });
  return value;
}

void L2::store_in_line(std::uint64_t address, unsigned bytes, std::uint64_t value, Caching caching,
                       Scope scope) {
  const bool passes = is_passed_by(scope);
  if (passes) store_to_memory(address, bytes, value);
  Line* const line = passes ? find(address) : &line_of(address, caching);
  if (line == nullptr) return;
  if (!passes && line->is_dirty.none())
    dirty_.push_back({line->dirty_since = ++stores_, address / kLine});
  for (unsigned i = 0; i < bytes; ++i) {
    const std::uint64_t n = address % kLine + i;
    line->bytes[n] = static_cast<std::uint8_t>(value >> 8 * i);
    line->is_dirty[n] = !passes;
    if (!passes) line->has.set(n);
  }
}

void L2::store(std::uint64_t address, unsigned bytes, std::uint64_t value, Caching caching,
               Scope scope) {
  if (caching == Caching::kCoherent) return store_to_memory(address, bytes, value);
  const std::lock_guard lock(mutex_);
  for_each_line(address, bytes, kLine, [&](std::uint64_t here, unsigned count, unsigned before) {
    store_in_line(here, count, value >> 8 * before, caching, scope);
  });
}

// An L2 of a part of the GPU leaves atomics to memory: none of their bits says the GPU's scope.
bool L2::does_atomics(std::uint64_t address, Caching caching, Scope scope) {
  if (caching == Caching::kCoherent) return false;
  if (serves_ == Scope::kGpu && !is_passed_by(scope)) return true;
  const std::lock_guard lock(mutex_);
  const auto found = lines_.find(address / kLine);
  if (found == lines_.end()) return false;
  write(found->first, found->second);
  lines_.erase(found);
  return false;
}

void L2::invalidate() {
  const std::lock_guard lock(mutex_);
  if (!may_be_stale_) return;
  may_be_stale_ = false;
  for (auto at = lines_.begin(); at != lines_.end();) {
    Line& line = at->second;
    line.has = line.is_dirty;
    at = line.has.none() ? lines_.erase(at) : std::next(at);
  }
}

std::uint64_t L2::begin_write_back() {
  const std::lock_guard lock(mutex_);
  return stores_;
}

void L2::end_write_back(std::uint64_t begun) {
  const std::lock_guard lock(mutex_);
  for (; !dirty_.empty() && dirty_.front().since <= begun; dirty_.pop_front())
    clean(dirty_.front());
}

void L2::let_some_be_written(std::minstd_rand& random) {
  const std::lock_guard lock(mutex_);
  if (dirty_.empty()) return;
  for (auto left = (dirty_.size() + 7) / 8; left > 0; --left)
    clean(dirty_[random() % dirty_.size()]);
  std::erase_if(dirty_, [&](const Dirty& dirty) {
    const auto found = lines_.find(dirty.line);
    return found == lines_.end() || found->second.dirty_since != dirty.since ||
           found->second.is_dirty.none();
  });
}

}  // namespace amd_gpu
