// SPDX-License-Identifier: Apache-2.0
//
// Notes who made what, and who is in a call on it. Invariant: as users.hpp says.
#include "tools/races/users.hpp"

#include <fmt/format.h>

#include <map>
#include <string_view>
#include <thread>

#include "tools/races/state.hpp"

namespace meshmem::races {
namespace {

enum class Users { any, one_at_a_time, one };

// A context, or the library as a whole.
struct Used {
  Users users = Users::any;
  std::string_view mistake{};  // of others than these
  std::thread::id maker = std::this_thread::get_id();
  std::thread::id user{};
  int calls = 0;  // under way
  bool is_destroyed = false;
};

// Live for ever: a destructor of the program may finalize.
Used& library = *new Used;
auto& contexts = *new std::map<std::uint64_t, Used>;

Used make_library(int thread_level) {
  if (thread_level == SHMEM_THREAD_MULTIPLE) return {};
  if (thread_level == SHMEM_THREAD_SERIALIZED)
    return {.users = Users::one_at_a_time,
            .mistake =
                "two threads call at once; let them take turns, or ask shmem_init_thread "
                "for SHMEM_THREAD_MULTIPLE"};
  return {.users = Users::one,
          .mistake =
              "called by another thread than shmem_init; ask shmem_init_thread for "
              "SHMEM_THREAD_MULTIPLE"};
}

Used make_context(long options) {
  if (options & SHMEM_CTX_PRIVATE)
    return {.users = Users::one,
            .mistake =
                "a SHMEM_CTX_PRIVATE context is used by another thread than the one that "
                "made it"};
  if (options & SHMEM_CTX_SERIALIZED)
    return {.users = Users::one_at_a_time,
            .mistake = "two threads use a SHMEM_CTX_SERIALIZED context at once"};
  return {};
}

void fail(const Call& call, std::string_view mistake) {
  checker.job.fail(fmt::format("{}: {}", call.what().name, mistake));
}

// False: this thread may not call now.
bool enter(Used& used) {
  const auto me = std::this_thread::get_id();
  const bool is_wrong = used.users == Users::one ? me != used.maker
                                                 : used.users == Users::one_at_a_time &&
                                                       used.calls > 0 && me != used.user;
  used.user = me;
  ++used.calls;
  return !is_wrong;
}

void leave(Used& used) {
  if (used.calls > 0) --used.calls;  // 0: the library was closed when this call began
}

bool makes_context(const Call& call) {
  return call.op == "ctx_create" || call.op == "team_create_ctx";
}

Used* find_context(const Call& call) {
  const auto found = makes_context(call) ? contexts.end() : contexts.find(call.context);
  return found == contexts.end() ? nullptr : &found->second;
}

}  // namespace

void begin_use(const Call& call) {
  // From now on the program may know that the library provides more than it has asked for.
  if (call.op == "query_thread" || call.op == "init_thread") library.users = Users::any;
  if (!enter(library)) {
    checker.job.print_line(fmt::format(
        "MESHMEM_CHECK=races: {}, in {}: {}; here the call works, and the job goes on",
        call.what().name, checker.job.return_address_text(call.caller), library.mistake));
    library.users = Users::any;  // says it once
  }
  Used* const context = find_context(call);
  if (!context) return;
  if (context->is_destroyed) fail(call, "the context has been destroyed");
  if (!enter(*context)) fail(call, context->mistake);
  // Before the call, since another thread may get the handle for a new context when it ends.
  context->is_destroyed = call.op == "ctx_destroy";
}

void end_use(const Call& call) {
  leave(library);
  if (Used* const context = find_context(call)) {
    leave(*context);
  } else if (makes_context(call) && call.result == 0) {
    const auto made = *reinterpret_cast<const shmem_ctx_t*>(call.context);
    contexts[reinterpret_cast<std::uint64_t>(made)] = make_context(call.options);
  }
}

void forget_users(int thread_level) {
  library = make_library(thread_level);
  contexts.clear();
}

}  // namespace meshmem::races
