// SPDX-License-Identifier: Apache-2.0
// The main loop: one poll() over signals, events of the PMIx server, and the PEs' output.
// Invariant: each turn of the loop collects the ends of PEs, then reads events, and then judges the
// ends. So a PE's last event is known when its end is judged. Run by main().
#include "running_job.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <functional>
#include <limits>

namespace meshmem {
namespace {

using namespace std::chrono_literals;

constexpr int kStatusOfTimeout = 124;    // as timeout(1)
constexpr int kStatusNotRunnable = 126;  // as shells have it
constexpr int kStatusNotFound = 127;
constexpr int kStatusOfSignal = 128;
// How long PEs have between SIGTERM and SIGKILL when the job failed, and when the user ends it.
constexpr auto kGrace = 250ms;
constexpr auto kInterruptGrace = 1s;
constexpr auto kAskingAgain = 2s;  // a second SIGQUIT within this time ends the job
// How long after a PE's end the event that it had finalized may still arrive.
constexpr auto kMailDelay = 100ms;
// How long output is awaited after the last PE ended: processes that left their PE's group may hold
// its pipes open for ever.
constexpr auto kLastOutputDelay = 200ms;
// How often to look whether oshrun is in the terminal's foreground again.
constexpr auto kForegroundPeriod = 500ms;

// "4 PEs", or "PE" where there is one.
std::string name_pes(int count) { return count == 1 ? "PE" : fmt::format("{} PEs", count); }

std::string describe(const ChildEnd& end) {
  if (end.signal == 0) return fmt::format("exited with status {}", end.status);
  return fmt::format("was killed by signal {} ({})", end.signal, ::strsignal(end.signal));
}

// Says what else the user may have meant by a program that is not there.
std::string advice_for(const std::string& program) {
  if (parse_number(program, 1, std::numeric_limits<int>::max()))
    return fmt::format("; for {} PE{} write -n {}", program, program == "1" ? "" : "s", program);
  const bool is_here = program.find('/') == program.npos && ::access(program.c_str(), X_OK) == 0;
  return is_here ? fmt::format("; for the one in this folder write ./{}", program) : "";
}

}  // namespace

RunningJob::RunningJob(const Options& options, const rlimit& files_of_pes, UniqueFd signals,
                       EventPipe& events, Guard& guard, StatusFile& status_file)
    : options_(options),
      signals_(std::move(signals)),
      events_(events),
      guard_(guard),
      status_file_(status_file),
      starter_(options.program, files_of_pes),
      output_(options.tag_output),
      pes_(static_cast<std::size_t>(options.pes)) {}

int RunningJob::run(const Environment& base,
                    const std::vector<std::vector<std::string>>& pe_variables) {
  UniqueFd nowhere(check(::open("/dev/null", O_RDONLY | O_CLOEXEC), "open /dev/null"));
  for (int pe = 0; pe < options_.pes; ++pe) start_pe(pe, base, pe_variables[pe], nowhere.get());
  input_.close_fd_for_pe();
  abort_is_chosen_ = base.count("MESHMEM_ABORT") > 0;
  Clock::time_point now = Clock::now();
  if (options_.timeout) {
    timeout_at_ = now + std::chrono::duration_cast<Clock::duration>(*options_.timeout);
  }
  for (; !is_over(now); now = Clock::now()) {
    wait_for_news(poll_timeout(now));
    output_.print_due(Clock::now());
    report_lost_output();
    act_on_deadlines(Clock::now());
  }
  output_.close_streams();
  while (output_.has_pending()) wait_for_news(-1);  // for a slow reader, or a signal
  report_lost_output();
  if (const auto trace = base.find("MESHMEM_TRACE"); trace != base.end())
    report_lost_trace(trace->second);
  return status_.value_or(output_is_lost_ ? kSystemError : 0);
}

void RunningJob::report_lost_output() {
  const int error = output_.out().lost_by() ? output_.out().lost_by() : output_.err().lost_by();
  if (error == 0 || output_is_lost_) return;
  output_is_lost_ = true;
  output_.print_own_line("output of the PEs is lost: {}", std::strerror(error));
}

// Says how to get the trace if PEs were killed, and so could not say it themselves.
void RunningJob::report_lost_trace(const std::string& file) {
  if (status_.value_or(0) == 0 || a_pe_said_why_) return;
  if (::access((file + ".pe0.part").c_str(), F_OK) != 0) return;
  output_.print_own_line(
      "the job has ended without its trace; `meshmem-trace join {}` makes it from the "
      "files that the PEs have left",
      file);
}

void RunningJob::start_pe(int pe, const Environment& base,
                          const std::vector<std::string>& variables, int nowhere_fd) {
  std::vector<std::string> environment;
  for (const auto& [name, value] : base) environment.push_back(fmt::format("{}={}", name, value));
  environment.insert(environment.end(), variables.begin(), variables.end());
  Pipe out = make_pipe();
  Pipe err = make_pipe();
  int input_fd = pe == 0 ? input_.fd_for_pe() : nowhere_fd;
  pes_[pe].pid = starter_.start(environment, {input_fd, out.write_end.get(), err.write_end.get()});
  pes_[pe].started_as = pes_[pe].pid;
  guard_.watch(pe, pes_[pe].pid);
  status_file_.note_start(pe, pes_[pe].pid);
  ++running_;
  output_.add(pe, std::move(out.read_end), false);
  output_.add(pe, std::move(err.read_end), true);
}

bool RunningJob::is_over(Clock::time_point now) const {
  if (running_ > 0 || awaits_word_of_leavers()) return false;
  bool awaits_output = std::any_of(output_.streams().begin(), output_.streams().end(),
                                   [](const Stream& stream) { return stream.fd.is_open(); });
  return !awaits_output || now >= last_end_ + kLastOutputDelay;
}

void RunningJob::wait_for_news(int timeout_ms) {
  enum { kSignals, kMail, kStartErrors, kInput, kInputOfPe, kOut, kErr, kFirstStream };
  std::vector<pollfd> fds = {{signals_.get(), POLLIN, 0},
                             {events_.fd(), POLLIN, 0},
                             {starter_.error_fd(), POLLIN, 0},
                             {input_.wants_input() ? STDIN_FILENO : -1, POLLIN, 0},
                             {input_.wants_output() ? input_.output_fd() : -1, POLLOUT, 0},
                             {output_.out().has_pending() ? output_.out().fd() : -1, POLLOUT, 0},
                             {output_.err().has_pending() ? output_.err().fd() : -1, POLLOUT, 0}};
  for (Stream& stream : output_.streams()) {
    fds.push_back({output_.wants_input(stream) ? stream.fd.get() : -1, POLLIN, 0});
  }
  ::poll(fds.data(), fds.size(), timeout_ms);
  for (std::size_t i = kFirstStream; i < fds.size(); ++i) {
    if (fds[i].revents != 0) output_.read_from(output_.streams()[i - kFirstStream]);
  }
  if (fds[kOut].revents != 0 || fds[kErr].revents != 0) output_.flush();
  if (fds[kInput].revents != 0) input_.read_some();
  if (fds[kInputOfPe].revents != 0) input_.write_some();
  if (fds[kSignals].revents != 0) take_signals();
  take_ends();
}

int RunningJob::poll_timeout(Clock::time_point now) const {
  Clock::time_point first = output_.next_due();
  if (kill_at_) first = std::min(first, *kill_at_);
  if (timeout_at_) first = std::min(first, *timeout_at_);
  if (!silent_leavers_.empty()) first = std::min(first, leavers_judged_at_);
  if (running_ == 0) first = std::min(first, last_end_ + kLastOutputDelay);
  if (input_.waits_for_foreground()) first = std::min(first, now + kForegroundPeriod);
  if (first == Clock::time_point::max()) return -1;
  auto wait = std::chrono::ceil<std::chrono::milliseconds>(first - now).count();
  return static_cast<int>(std::clamp<decltype(wait)>(wait, 0, 1 << 30));
}

// --- Signals ---------------------------------------------------------------------------------

void RunningJob::take_signals() {
  signalfd_siginfo info;
  while (::read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    take_signal(static_cast<int>(info.ssi_signo));
  }
}

void RunningJob::take_signal(int signal) {
  if (signal == SIGCHLD) return;  // take_ends() looks in every turn
  if (signal == SIGTSTP || signal == SIGCONT || signal == SIGUSR1 || signal == SIGUSR2) {
    signal_all(signal);
    if (signal == SIGTSTP) ::raise(SIGSTOP);
    return;
  }
  if (only_asks(signal)) {
    output_.print_own_line("{}\n  (SIGQUIT again within {} s ends the job)", status_file_.table(),
                           kAskingAgain.count());
    asked_at_ = Clock::now();  // making the table may take as long
    return;
  }
  if (++interrupts_ > 1) {
    signal_all(SIGKILL);
    output_.discard();
    return;
  }
  signal_all(signal);
  signal_all(SIGCONT);
  if (!status_) status_ = kStatusOfSignal + signal;
  if (!kill_at_) kill_at_ = Clock::now() + kInterruptGrace;
}

// A first SIGQUIT asks where the PEs are; a second soon after it ends the job, as other signals do.
bool RunningJob::only_asks(int signal) {
  if (signal != SIGQUIT || interrupts_ > 0) return false;
  return !asked_at_ || Clock::now() - *asked_at_ >= kAskingAgain;
}

void RunningJob::signal_all(int signal) {
  for (const Pe& pe : pes_) {
    if (pe.pid != 0) ::kill(-pe.pid, signal);
  }
}

// --- Ends and events -------------------------------------------------------------------------

void RunningJob::take_ends() {
  std::vector<std::pair<int, ChildEnd>> ends;
  const auto is_pe = [this](pid_t child) { return find_pe(child).has_value(); };
  while (std::optional<ChildEnd> end = take_ended_child(is_pe)) {
    std::optional<int> pe = find_pe(end->pid);
    if (!pe) continue;
    pes_[*pe].pid = 0;
    guard_.forget(*pe);
    status_file_.note_end(*pe, *end);
    --running_;
    last_end_ = Clock::now();
    ends.emplace_back(*pe, *end);
  }
  take_start_errors();
  take_events();
  for (const auto& [pe, end] : ends) judge(pe, end);
  judge_early_leavers();
}

std::optional<int> RunningJob::find_pe(pid_t pid) const {
  for (int pe = 0; pe < options_.pes; ++pe) {
    if (pes_[pe].pid == pid) return pe;
  }
  return std::nullopt;
}

void RunningJob::take_start_errors() {
  while (std::optional<ExecError> error = starter_.take_error()) {
    if (status_) continue;
    const bool is_absent = error->number == ENOENT || error->number == ENOTDIR;
    output_.print_own_line("cannot run '{}': {}{}", options_.program[0], error->text,
                           is_absent ? advice_for(options_.program[0]) : "");
    end_with(is_absent ? kStatusNotFound : kStatusNotRunnable);
  }
}

void RunningJob::take_events() {
  while (const std::optional<ServerEvent> taken = events_.take()) {
    const ServerEvent& event = *taken;
    if (event.kind == ServerEvent::kRefused) {
      output_.print_own_line(
          "refused a connection of user {} to this job, whose PEs run as user {} (said once)",
          static_cast<uid_t>(event.status), ::geteuid());
      continue;
    }
    if (event.pe < 0 || event.pe >= options_.pes) continue;
    Pe& pe = pes_[event.pe];
    pe.connected |= event.kind == ServerEvent::kConnected;
    pe.finalized = event.kind == ServerEvent::kFinalized;
    const bool failed = event.kind == ServerEvent::kFailed;
    if ((failed || event.kind == ServerEvent::kAborted) && !status_) {
      int status = event.status & 0xff;
      if (failed)
        report(event.pe, fmt::format("ended the job with status {}", status), hint_for(event.pe));
      if (!failed && status != 0) {
        report(event.pe, fmt::format("called shmem_global_exit({})", event.status));
      }
      a_pe_said_why_ = true;
      end_with(status);
    }
  }
}

void RunningJob::judge(int pe, const ChildEnd& end) {
  if (status_) return;
  if (end.signal == 0 && end.status == 0) {
    pes_[pe].left_early = !pes_[pe].connected;
    if (pes_[pe].connected && !pes_[pe].finalized && !status_file_.has_finalized(pe)) {
      if (silent_leavers_.empty()) leavers_judged_at_ = Clock::now() + kMailDelay;
      silent_leavers_.push_back(pe);
    }
    return;
  }
  // The reader of oshrun's output has left, and the PE got SIGPIPE, as it would without oshrun: no
  // report.
  bool reader_left =
      end.signal == SIGPIPE && (output_.out().is_broken() || output_.err().is_broken());
  if (!reader_left) report(pe, describe(end) + suspect_of(end));
  end_with(end.signal != 0 ? kStatusOfSignal + end.signal : end.status);
}

// The kernel does not tell who sent a SIGKILL. A shell in a PE's place exits with 128 + SIGKILL.
std::string RunningJob::suspect_of(const ChildEnd& end) const {
  if (end.signal != SIGKILL && end.status != kStatusOfSignal + SIGKILL) return "";
  const auto rise = describe_rise(oom_kills_before_, count_oom_kills());
  return rise ? fmt::format(", probably by the kernel's out-of-memory killer ({})", *rise) : "";
}

// A PE that left with status 0 and never connected is a failure only if others connect: their
// shmem_init waits for all PEs.
void RunningJob::judge_early_leavers() {
  const auto waits = [](const Pe& pe) { return pe.pid != 0 && pe.connected && !pe.finalized; };
  const auto left = std::find_if(pes_.begin(), pes_.end(), std::mem_fn(&Pe::left_early));
  if (status_ || left == pes_.end() || std::none_of(pes_.begin(), pes_.end(), waits)) return;
  report(static_cast<int>(left - pes_.begin()),
         "ended without calling shmem_init, and the others wait for it");
  end_with(kSystemError);
}

// Reports a PE that connected and ended with status 0, but without shmem_finalize and past all exit
// handlers. Others would wait for it, so this is a failure, even if no other PE is left.
void RunningJob::judge_silent_leavers(Clock::time_point now) {
  if (silent_leavers_.empty() || now < leavers_judged_at_) return;
  for (int pe : std::exchange(silent_leavers_, {})) {
    if (status_ || pes_[pe].finalized) continue;
    report(pe, "ended without shmem_finalize");
    end_with(kSystemError);
  }
}

bool RunningJob::awaits_word_of_leavers() const {
  return !status_ && std::any_of(silent_leavers_.begin(), silent_leavers_.end(),
                                 [this](int pe) { return !pes_[pe].finalized; });
}

void RunningJob::act_on_deadlines(Clock::time_point now) {
  judge_silent_leavers(now);
  if (timeout_at_ && now >= *timeout_at_ && !status_ && running_ > 0) {
    output_.print_own_line("the job ran longer than --timeout {:g} s; ending its {}",
                           options_.timeout->count(), name_pes(running_));
    end_with(kStatusOfTimeout);
  }
  if (timeout_at_ && now >= *timeout_at_) timeout_at_.reset();
  if (kill_at_ && now >= *kill_at_) {
    signal_all(SIGKILL);
    kill_at_.reset();
  }
}

// --- The end ---------------------------------------------------------------------------------

// A PE's line about a mistake names one place in the program, but not the calls that led there.
const char* RunningJob::hint_for(int pe) const {
  if (abort_is_chosen_ || !status_file_.is_running(pe)) return "";
  return " (MESHMEM_ABORT=core shows its stack)";
}

void RunningJob::report(int pe, const std::string& what, const char* hint) {
  int others = running_ - (pes_[pe].pid != 0 ? 1 : 0);
  std::string consequence =
      others > 0 ? fmt::format("; ending the other {}", name_pes(others)) : "";
  output_.print_own_line("PE {} (pid {}) {}{}{}", pe, pes_[pe].started_as, what, consequence, hint);
}

void RunningJob::end_with(int status) {
  status_ = status;
  // All PEs stand still before the first one ends, so that none has time to complain of another's
  // end. SIGCONT lets them go on into the SIGTERM.
  for (int signal : {SIGSTOP, SIGTERM, SIGCONT}) signal_all(signal);
  kill_at_ = Clock::now() + kGrace;
}

}  // namespace meshmem
