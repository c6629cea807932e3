// SPDX-License-Identifier: Apache-2.0
// Reads MessagePack, in which code objects describe their kernels: maps, arrays, texts, integers
// and truth values.
// Invariant: a value that does not fit its bytes is null, and so are all that follow; nothing is
// read beyond the end. Used by code_object.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace amd_gpu {

struct Value {
  enum class Kind : std::uint8_t { kNull, kNumber, kText, kList, kMap };
  Kind kind = Kind::kNull;
  std::uint64_t number = 0;
  std::string text;
  std::vector<Value> list;  // of a map: key, value, key, value

  const Value* find(std::string_view key) const {
    for (std::size_t n = 0; kind == Kind::kMap && n + 1 < list.size(); n += 2)
      if (list[n].text == key) return &list[n + 1];
    return nullptr;
  }
  std::uint64_t number_of(std::string_view key) const {
    const Value* found = find(key);
    return found == nullptr ? 0 : found->number;
  }
  std::string text_of(std::string_view key) const {
    const Value* found = find(key);
    return found == nullptr ? "" : found->text;
  }
};

Value read_msgpack(std::span<const std::uint8_t> bytes);

}  // namespace amd_gpu
