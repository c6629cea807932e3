// SPDX-License-Identifier: Apache-2.0
//
// Executes commands by calls of one_sided. Marks of the transport tell when they are done.
// Invariant: the thread polls an empty ring often for a while after the last command, and then more
// and more rarely, since a GPU cannot wake a thread.
#include "proxy/proxy.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include "base/error.hpp"
#include "base/hooks/own_work.hpp"
#include "base/machine/thread.hpp"
#include "base/waiting/relax.hpp"
#include "base/waiting/wait.hpp"
#include "gpu/device_target.hpp"
#include "one_sided/one_sided.hpp"
#include "transport/transport.hpp"

namespace meshmem {
namespace {

using device::ProxyCommand;
using device::ProxyOp;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// The most commands that are taken before results and tickets are published.
constexpr int kMostAtOnce = 256;
// Tells the transport once for this many commands, so every few microseconds, that this thread will
// make progress. With longer pauses the network's own thread would take in messages. Both would
// compete for the transport's lock, which costs 1 to 3 us for each command.
constexpr int kCommandsPerWillProgress = 16;
// A mark sends the records that wait to be combined. With few marks under way, many are combined.
constexpr std::size_t kMostMarks = 2;

// Until how long after the last command the thread polls without naps, and then with short naps.
constexpr milliseconds kTimeOfPolls{2}, kTimeOfShortNaps{1000};
constexpr microseconds kShortNap{50}, kLongNap{1000};
constexpr microseconds kPausesBesideCollectives{20};

Proxy* woken_proxy;  // for complete_kernels; a process has at most one proxy

// The names of routines for messages. A command does not say which routine it came from.
constexpr const char* kPut = "a put in a kernel or on a stream";
constexpr const char* kGet = "a get in a kernel or on a stream";
constexpr const char* kPutBlocks = "a strided put in a kernel or on a stream";
constexpr const char* kGetBlocks = "a strided get in a kernel or on a stream";
constexpr const char* kAtomic = "an atomic operation in a kernel or on a stream";
constexpr const char* kSignal = "a signal in a kernel or on a stream";
constexpr const char* kPutSignal = "a put with a signal in a kernel or on a stream";

std::byte* address_in(std::uint64_t word) { return reinterpret_cast<std::byte*>(word); }

one_sided::Blocks blocks_of(const ProxyCommand& command) {
  return {command.word[4], command.word[5], static_cast<std::ptrdiff_t>(command.word[2]),
          static_cast<std::ptrdiff_t>(command.word[3])};
}

AtomicRequest request_of(const ProxyCommand& command, bool fetches) {
  return {static_cast<device::AtomicOp>(command.detail), command.length, command.word[1],
          command.word[2], fetches};
}

void put_signal(const ProxyCommand& command, const void* source, std::size_t bytes) {
  const int pe = static_cast<int>(command.pe);
  auto* signal = reinterpret_cast<std::uint64_t*>(command.word[0]);
  std::byte* dest = address_in(command.word[2]);
  if (one_sided::try_put_signal(kPutSignal, dest, source, bytes,
                                {signal, command.word[1], command.detail}, pe))
    return;
  if (bytes > 0) one_sided::put(kPutSignal, dest, source, bytes, pe);
  transport()->order();
  one_sided::signal(kPutSignal, signal, command.word[1], command.detail, pe);
}

// Gives a command that has no answer to the transport.
void issue(const ProxyCommand& command) {
  const int pe = static_cast<int>(command.pe);
  std::byte* first = address_in(command.word[0]);
  switch (command.op) {
    case ProxyOp::put:
      return one_sided::put(kPut, first, address_in(command.word[1]), command.word[2], pe);
    case ProxyOp::put_inline:
      return one_sided::put(kPut, first, command.word + 1, command.length, pe);
    case ProxyOp::get:
      return one_sided::get(kGet, first, address_in(command.word[1]), command.word[2], pe);
    case ProxyOp::put_blocks:
      return one_sided::put_blocks(kPutBlocks, first, address_in(command.word[1]),
                                   blocks_of(command), pe);
    case ProxyOp::get_blocks:
      return one_sided::get_blocks(kGetBlocks, first, address_in(command.word[1]),
                                   blocks_of(command), pe);
    case ProxyOp::atomic:
      one_sided::atomic(kAtomic, first, request_of(command, false), pe);
      return;
    case ProxyOp::signal:
      return one_sided::signal(kSignal, reinterpret_cast<std::uint64_t*>(first), command.word[1],
                               command.detail, pe);
    case ProxyOp::put_signal:
      return put_signal(command, address_in(command.word[3]), command.word[4]);
    case ProxyOp::put_signal_inline:
      return put_signal(command, command.word + 3, command.length);
    case ProxyOp::fence:
      return transport()->order();  // all commands before it are in the transport
    default:
      fatal("a kernel has written over the commands of the proxy (operation {})",
            static_cast<int>(command.op));
  }
}

}  // namespace

void Proxy::start(const ProxyMemory& memory, Collective collective) {
  reader_.emplace(memory);
  collective_ = std::move(collective);
  completed_ = last_issued_ = 0;
  stops_ = is_awake_ = false;
  thread_ = start_thread("that serves kernels", [this] { run(); });
}

void Proxy::stop() {
  if (!thread_.joinable()) return;
  complete_kernels.store(nullptr, std::memory_order_release);
  stops_.store(true, std::memory_order_release);
  is_awake_.store(true, std::memory_order_release);
  is_awake_.notify_all();
  thread_.join();
}

// Sets is_awake_ last: a thread that finds it set also finds complete_kernels, so its quiet waits
// for the proxy.
void Proxy::wake() {
  if (is_awake_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(waking_);
  if (is_awake_.load(std::memory_order_relaxed)) return;
  woken_proxy = this;
  complete_kernels.store([](const char* routine) { woken_proxy->complete(routine); },
                         std::memory_order_release);
  pending_work.count_issued();
  set_acts_alone(false);  // operations may outlast their kernels
  is_awake_.store(true, std::memory_order_release);
  is_awake_.notify_all();
}

void Proxy::complete(const char* routine) {
  const ProxyMemory& memory = reader_->memory();
  const std::uint64_t count = count_commands(memory);
  wait_until_ready(
      [&] { return __atomic_load_n(&memory.progress->completed, __ATOMIC_ACQUIRE) >= count; },
      [&] { return fmt::format("operations of kernels on other machines, in {}", routine); });
}

void Proxy::abandon() {
  is_abandoned_.store(true, std::memory_order_release);
  stop();
}

void Proxy::run() {
  pthread_setname_np(pthread_self(), "meshmem proxy");
  is_awake_.wait(false, std::memory_order_acquire);
  last_work_ = Clock::now() - kTimeOfShortNaps;  // until the first command, naps are long
  while (!is_abandoned_.load(std::memory_order_acquire)) {
    if (serve()) {
      last_work_ = Clock::now();
      continue;
    }
    if (stops_.load(std::memory_order_acquire) && is_idle()) return;
    nap();
  }
}

// Executes all commands that are there, and finishes the marks that are done.
bool Proxy::serve() {
  OwnWorkSpan span(OwnWork::serve_kernels);
  const std::uint64_t before = reader_->taken();
  bool any = false;
  while (!is_abandoned_.load(std::memory_order_acquire) && step()) any = true;
  if (any) span.done(reader_->taken() - before);
  return any;
}

// Pauses before the next poll: spins, yields the core or sleeps, by how long ago the last command
// was. Soon after a command this thread also takes in messages: a kernel that waits for a flag from
// another machine cannot, and waking the transport's own thread would take longer.
void Proxy::nap() {
  const auto idle = Clock::now() - last_work_;
  const bool has_core = wait_policy.polls > 1;
  if (!marks_.empty() || idle < (has_core ? kTimeOfPolls : microseconds(200))) {
    if (marks_.empty()) make_progress();  // CompletionMark::is_done() has done it
    // Kernels that are threads of this process need cores too.
    return has_core && !kDevicesAreProcessors && idle < microseconds(20) ? relax() : yield_core();
  }
  std::this_thread::sleep_for(idle < kTimeOfShortNaps ? kShortNap : kLongNap);
}

// Takes in messages, but less often while other threads run collectives. Those take in messages
// too, and would wait for the transport's lock at each poll.
void Proxy::make_progress() {
  if (n_collectives_.load(std::memory_order_relaxed) > 0) {
    const auto now = Clock::now();
    if (now - last_progress_ < kPausesBesideCollectives) return;
    last_progress_ = now;
  }
  transport()->progress_for_kernels();
}

bool Proxy::step() {
  const bool took = take_commands();
  const bool finished = finish_first_mark();
  // Make no mark while more commands come at once, so that one mark covers them too. But make one
  // after kMostAtOnce commands, since a kernel may wait while others never pause.
  const std::uint64_t marked = marks_.empty() ? completed_ : marks_.back().taken;
  const std::uint64_t unmarked = reader_->taken() - marked;
  if (unmarked > 0 && (!took || unmarked >= kMostAtOnce) && marks_.size() < kMostMarks) {
    marks_.push_back({transport()->mark(), reader_->taken(), pending_.size() - n_marked_});
    n_marked_ = pending_.size();
    return true;
  }
  return took || finished;
}

bool Proxy::take_commands() {
  ProxyCommand command;
  int n = 0;
  for (; n < kMostAtOnce && reader_->try_take(&command); ++n) {
    if (n % kCommandsPerWillProgress == 0) transport()->will_progress();
    execute(command);
    reader_->note_consumed();
  }
  return n > 0;
}

void Proxy::execute(const ProxyCommand& command) {
  const int pe = static_cast<int>(command.pe);
  if (command.op == ProxyOp::collective) return begin_collective(command);
  last_issued_ = reader_->taken();
  switch (command.op) {
    case ProxyOp::load: {
      Pending& answer = pending_.emplace_back(Pending{command.word[1], 0});
      return one_sided::get_nbi(kGet, &answer.value, address_in(command.word[0]), command.length,
                                pe);
    }
    case ProxyOp::fetch: {
      Pending& answer = pending_.emplace_back(Pending{command.word[3], 0});
      return one_sided::fetch_nbi(kAtomic, address_in(command.word[0]), request_of(command, true),
                                  pe, &answer.value);
    }
    default:
      return issue(command);
  }
}

// A collective on a stream begins when all commands before it, other than collectives, are done,
// whichever wave gave them. In a kernel the group that calls the collective has done its own quiet.
void Proxy::begin_collective(const ProxyCommand& command) {
  n_collectives_.fetch_add(1, std::memory_order_relaxed);
  const bool is_quiet = (command.pe & device::kFromStream) != 0;
  if (!is_quiet || completed_ >= last_issued_) return collective_(command);
  waiting_.push_back({command, last_issued_});
}

// Publishes what the first mark covers, if it is done. Marks are done in the order of their making.
bool Proxy::finish_first_mark() {
  if (marks_.empty() || !marks_.front().mark->is_done()) return false;
  const Mark& done = marks_.front();
  for (std::size_t i = 0; i < done.n_pending; ++i) {
    reader_->answer(pending_.front().number, pending_.front().value);
    pending_.pop_front();
  }
  n_marked_ -= done.n_pending;
  completed_ = done.taken;
  reader_->note_completed(completed_);
  marks_.pop_front();
  for (; !waiting_.empty() && waiting_.front().after <= completed_; waiting_.pop_front())
    collective_(waiting_.front().command);
  return true;
}

}  // namespace meshmem
