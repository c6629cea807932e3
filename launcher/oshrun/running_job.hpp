// SPDX-License-Identifier: Apache-2.0
// One job: its PEs from their start to the exit status of oshrun.
// Invariant: once a status is decided it stays, and every PE is gone within a second of that.
// Made and run once by main().
#ifndef MESHMEM_OSHRUN_RUNNING_JOB_HPP_
#define MESHMEM_OSHRUN_RUNNING_JOB_HPP_

#include <signal.h>

#include <optional>
#include <string>
#include <vector>

#include "base/machine/machine.hpp"
#include "children.hpp"
#include "environment.hpp"
#include "leftovers.hpp"
#include "options.hpp"
#include "output.hpp"
#include "server.hpp"
#include "status.hpp"
#include "terminal_input.hpp"

namespace meshmem {

class RunningJob {
 public:
  RunningJob(const Options& options, const rlimit& files_of_pes, UniqueFd signals,
             EventPipe& events, Guard& guard, StatusFile& status_file);
  ~RunningJob() { signal_all(SIGKILL); }  // if run() gave up half-way

  // pe_variables: for each PE the NAME=VALUE strings that the PMIx server wants it to have.
  // Returns the exit status.
  int run(const Environment& base, const std::vector<std::vector<std::string>>& pe_variables);

 private:
  struct Pe {
    pid_t pid = 0;         // 0: not running
    pid_t started_as = 0;  // the same, and kept after the end
    bool connected = false;
    bool finalized = false;
    bool left_early = false;  // with status 0, before it connected
  };

  void start_pe(int pe, const Environment& base, const std::vector<std::string>& variables,
                int nowhere_fd);
  bool is_over(Clock::time_point now) const;
  void wait_for_news(int timeout_ms);  // of poll(2)
  int poll_timeout(Clock::time_point now) const;
  void take_signals();
  void take_signal(int signal);
  bool only_asks(int signal);
  void signal_all(int signal);

  void take_ends();
  void take_start_errors();
  void take_events();
  void judge(int pe, const ChildEnd& end);
  std::string suspect_of(const ChildEnd& end) const;
  void judge_early_leavers();
  void judge_silent_leavers(Clock::time_point now);
  bool awaits_word_of_leavers() const;
  void act_on_deadlines(Clock::time_point now);
  std::optional<int> find_pe(pid_t pid) const;

  void report_lost_output();
  void report_lost_trace(const std::string& file);
  const char* hint_for(int pe) const;
  void report(int pe, const std::string& what, const char* hint = "");
  void end_with(int status);

  const Options& options_;
  const UniqueFd signals_;
  EventPipe& events_;
  Guard& guard_;
  StatusFile& status_file_;
  ChildStarter starter_;
  Output output_;
  TerminalInput input_;

  const std::vector<OomKills> oom_kills_before_ = count_oom_kills();
  std::vector<Pe> pes_;
  int running_ = 0;
  // PEs that connected and exited with 0, and whose finalizing neither PMIx, at the end of the
  // process, nor the library has reported.
  std::vector<int> silent_leavers_;
  Clock::time_point leavers_judged_at_{};

  std::optional<int> status_;  // oshrun's, once something has decided it
  bool a_pe_said_why_ = false;
  bool abort_is_chosen_ = false;  // by MESHMEM_ABORT
  bool output_is_lost_ = false;
  int interrupts_ = 0;
  std::optional<Clock::time_point> asked_at_;  // by SIGQUIT, for the table
  std::optional<Clock::time_point> timeout_at_;
  std::optional<Clock::time_point> kill_at_;
  Clock::time_point last_end_{};  // when the last PE ended
};

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_RUNNING_JOB_HPP_
