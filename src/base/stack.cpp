// SPDX-License-Identifier: Apache-2.0
//
// Walks up the stack by the compiler's tables. A function that the compiler has put into another
// counts as one of its own.
#include "base/stack.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unwind.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "base/code_place.hpp"

namespace meshmem {
namespace {

// A return address is behind the call, which may be a function's last instruction.
std::uintptr_t address_of_call(_Unwind_Context* context) {
  int is_before = 0;
  const std::uintptr_t address = _Unwind_GetIPInfo(context, &is_before);
  return address == 0 || is_before ? address : address - 1;
}

struct Frames {
  std::string text = "the stack, innermost call first:";
  int number = 0;
};

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* argument) {
  Frames& frames = *static_cast<Frames*>(argument);
  const std::uintptr_t address = address_of_call(context);
  for (const CodePlace& place : code_places(address))
    frames.text += fmt::format("\n  #{:<2} {:#014x} {}", frames.number++, address, place.text());
  return _URC_NO_REASON;
}

bool begins_as_one_of(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return text.starts_with(beginning); });
}

// Inline functions of the library's headers are not of the program, nor are wrappers, nor the
// functions that call main and begin threads.
bool is_of_program(const CodePlace& place) {
  return place.function != "_start" &&
         !begins_as_one_of(place.function,
                           {"shmem", "pshmem", "meshmem::", "nvshmem", "rocshmem::"}) &&
         !begins_as_one_of(place.object, {"libmeshmem", "libc.", "libstdc++."});
}

const void* base_of(std::uintptr_t address) {
  Dl_info about{};
  return dladdr(reinterpret_cast<void*>(address), &about) != 0 ? about.dli_fbase : nullptr;
}

// Returns nullptr if none of them is of the program.
const CodePlace* first_of_program(const std::vector<CodePlace>& places) {
  const auto first = std::find_if(places.begin(), places.end(), is_of_program);
  return first == places.end() ? nullptr : &*first;
}

struct Search {
  const void* own_base;
  std::string found{};
};

_Unwind_Reason_Code look_at_frame(_Unwind_Context* context, void* argument) {
  Search& search = *static_cast<Search*>(argument);
  const std::uintptr_t address = address_of_call(context);
  if (base_of(address) == search.own_base) {
    search.found.clear();  // of a library that calls this one back
  } else if (search.found.empty()) {
    const std::vector<CodePlace> places = code_places(address);
    if (const CodePlace* const first = first_of_program(places)) search.found = first->text();
  }
  return _URC_NO_REASON;
}

}  // namespace

std::string stack_text() {
  Frames frames;
  _Unwind_Backtrace(add_frame, &frames);
  return frames.text;
}

std::string calling_place() {
  Search search{.own_base = base_of(reinterpret_cast<std::uintptr_t>(&calling_place))};
  _Unwind_Backtrace(look_at_frame, &search);
  return search.found;
}

std::string place_of_call(const void* return_address) {
  const std::vector<CodePlace> places =
      code_places(reinterpret_cast<std::uintptr_t>(return_address) - 1);
  if (places.empty()) return "";
  const CodePlace* const first = first_of_program(places);
  return (first ? *first : places.front()).text();
}

}  // namespace meshmem
