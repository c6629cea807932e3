// SPDX-License-Identifier: Apache-2.0
//
// Asks libbacktrace, which comes with GCC. Without it, asks the C library, which knows only the
// names that a program exports. Walks up the stack by the compiler's unwind tables. An inlined
// function counts as one of its own.
#include "base/code_place.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <unwind.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <utility>

#if MESHMEM_HAS_BACKTRACE
#include <backtrace.h>
#endif

namespace meshmem {
namespace {

std::string_view without_folder(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// Only words such as const follow the parameters. Earlier parentheses belong to types or to
// operator().
std::size_t begin_of_parameters(std::string_view text) {
  int depth = 0;
  for (std::size_t at = text.rfind(')'); at < text.size(); --at) {  // at - 1 of 0 is npos
    depth += text[at] == ')' ? 1 : text[at] == '(' ? -1 : 0;
    if (depth == 0) return at;
  }
  return text.size();
}

std::string readable_name(const char* name) {
  std::string result = name;
  const bool is_mangled = result.starts_with("_Z");  // "f" alone would become float
  int status = 0;
  if (char* text = is_mangled ? abi::__cxa_demangle(name, nullptr, nullptr, &status) : nullptr) {
    result = text;
    std::free(text);
  }
  constexpr std::string_view kUnnamed = "(anonymous namespace)::";
  for (std::size_t at; (at = result.find(kUnnamed)) != std::string::npos;)
    result.erase(at, kUnnamed.size());
  if (is_mangled) result.erase(begin_of_parameters(result));
  constexpr std::size_t kLongest = 120;  // names from templates can be very long
  if (result.size() > kLongest) result.replace(kLongest, std::string::npos, "...");
  return result;
}

#if MESHMEM_HAS_BACKTRACE

struct Found {
  const CodePlace& common;
  std::vector<CodePlace> places{};
};

int add_place(void* data, std::uintptr_t, const char* file, int line, const char* function) {
  if (!file && !function) return 0;
  Found& found = *static_cast<Found*>(data);
  CodePlace& place = found.places.emplace_back(found.common);
  if (function) place.function = readable_name(function);
  if (file) place.line = fmt::format("{}:{}", without_folder(file), line);
  return 0;
}

void take_name(void* data, std::uintptr_t, const char* name, std::uintptr_t, std::uintptr_t) {
  if (name) *static_cast<std::string*>(data) = readable_name(name);
}

void ignore_error(void*, const char*, int) {}

std::atomic<backtrace_state*> used_state{nullptr};

// libbacktrace gets its memory from the system, not from malloc.
backtrace_state* use_state() {
  static backtrace_state* const state = backtrace_create_state(nullptr, 1, ignore_error, nullptr);
  used_state = state;
  return state;
}

std::vector<CodePlace> look_up(std::uintptr_t address, CodePlace& common) {
  backtrace_state* const state = use_state();
  Found found{common};
  backtrace_pcinfo(state, address, add_place, ignore_error, &found);
  backtrace_syminfo(state, address, take_name, ignore_error, &common.function);
  return std::move(found.places);
}

void take_variable(void* data, std::uintptr_t address, const char* name, std::uintptr_t begin,
                   std::uintptr_t) {
  if (!name) return;
  std::string& text = *static_cast<std::string*>(data);
  text = readable_name(name);
  if (address != begin) text += fmt::format(" + {:#x}", address - begin);
}

#else

std::vector<CodePlace> look_up(std::uintptr_t, CodePlace&) { return {}; }

#endif

// A return address follows the call, so it is in the next function if the call was the last
// instruction.
std::uintptr_t address_of_call(_Unwind_Context* context) {
  int is_before = 0;
  const std::uintptr_t address = _Unwind_GetIPInfo(context, &is_before);
  return address == 0 || is_before ? address : address - 1;
}

struct Frames {
  StackOf whose;
  std::string text = "the stack, innermost call first:";
  int number = 0;
};
constexpr int kMostFrames = 40;  // after a stack overflow there are very many

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* argument) {
  Frames& frames = *static_cast<Frames*>(argument);
  int was_interrupted = 0;
  _Unwind_GetIPInfo(context, &was_interrupted);
  if (was_interrupted && frames.whose == StackOf::interrupted) frames = {StackOf::caller};
  if (frames.number >= kMostFrames) return _URC_END_OF_STACK;
  const std::uintptr_t address = address_of_call(context);
  for (const CodePlace& place : functions_at(address))
    frames.text += fmt::format("\n  #{:<2} {:#014x} {}", frames.number++, address, place.text());
  return _URC_NO_REASON;
}

bool begins_as_one_of(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return text.starts_with(beginning); });
}

// False for inline functions of the library's headers, for wrappers, and for the functions that
// call main, start threads and run kernels. The name of a template begins with the type of its
// result.
bool is_of_program(const CodePlace& place) {
  std::string_view name =
      std::string_view(place.function).substr(0, place.function.find_first_of("<("));
  name.remove_prefix(name.rfind(' ') + 1);  // npos + 1 is 0
  return name != "_start" && name != "make_fcontext" &&
         !begins_as_one_of(
             name, {"shmem", "pshmem", "meshmem::", "hip_on_cpu::", "nvshmem", "rocshmem::"}) &&
         !begins_as_one_of(place.object,
                           {"libmeshmem", "libc.", "libstdc++.", "libboost_context."});
}

const void* base_of(std::uintptr_t address) {
  Dl_info about{};
  return dladdr(reinterpret_cast<void*>(address), &about) != 0 ? about.dli_fbase : nullptr;
}

// Returns nullptr if no place belongs to the program.
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
    search.found.clear();  // what was found is a library that this one calls and that called back
  } else if (search.found.empty()) {
    const std::vector<CodePlace> places = functions_at(address);
    if (const CodePlace* const first = first_of_program(places)) search.found = first->text();
  }
  return _URC_NO_REASON;
}

}  // namespace

std::string CodePlace::text() const {
  const std::string place = line.empty() ? fmt::format("{}+0x{:x}", object, offset) : line;
  return function.empty() ? place : fmt::format("{} at {}", function, place);
}

std::vector<CodePlace> functions_at(std::uintptr_t address) {
  Dl_info about{};
  link_map* module = nullptr;
  if (dladdr1(reinterpret_cast<void*>(address), &about, reinterpret_cast<void**>(&module),
              RTLD_DL_LINKMAP) == 0)
    return {};
  CodePlace common{.object = std::string(without_folder(about.dli_fname)),
                   .offset = address - module->l_addr};
  std::vector<CodePlace> places = look_up(address, common);
  if (common.function.empty() && about.dli_sname) common.function = readable_name(about.dli_sname);
  if (places.empty()) return {common};
  // The debug information may not name a function, and names static ones without their namespace.
  std::string& function = places.back().function;
  if (function.empty() || common.function.find("::" + function) != std::string::npos)
    function = common.function;
  return places;
}

std::string variable_at([[maybe_unused]] const void* address) {
  std::string text;
#if MESHMEM_HAS_BACKTRACE
  if (backtrace_state* const state = used_state)
    backtrace_syminfo(state, reinterpret_cast<std::uintptr_t>(address), take_variable, ignore_error,
                      &text);
#endif
  return text;
}

void allow_variable_names() {
#if MESHMEM_HAS_BACKTRACE
  use_state();
#endif
}

std::string stack_text(StackOf whose) {
  Frames frames{whose};
  _Unwind_Backtrace(add_frame, &frames);
  return frames.text;
}

std::string program_call_text() {
  Search search{.own_base = base_of(reinterpret_cast<std::uintptr_t>(&program_call_text))};
  _Unwind_Backtrace(look_at_frame, &search);
  return search.found;
}

std::string return_address_text(const void* return_address) {
  const std::vector<CodePlace> places =
      functions_at(reinterpret_cast<std::uintptr_t>(return_address) - 1);
  if (places.empty()) return "";
  const CodePlace* const first = first_of_program(places);
  return (first ? *first : places.front()).text();
}

}  // namespace meshmem
