// SPDX-License-Identifier: Apache-2.0
//
// The connection to a launcher that speaks PMI-1: a socket that the PE has inherited (PMI_FD), with
// one line out and one line back at a time.
// Invariant: reads no byte beyond the answer, since an MPI library of the same program may use the
// socket too. A launcher that says nothing, nonsense or goodbye ends the process with a line, which
// shows no values. Called by pmi_client.cpp.
#ifndef MESHMEM_BOOTSTRAP_PMI_CONNECTION_HPP_
#define MESHMEM_BOOTSTRAP_PMI_CONNECTION_HPP_

#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace meshmem {

struct AwaitedAnswer {
  std::string what;  // goes on from "waited 60 s for "
  double seconds;    // 0: for ever
  const char* limit;
};

class PmiConnection {
 public:
  explicit PmiConnection(const char* descriptor);  // the value of PMI_FD

  // Says "cmd=<command><words>" and returns the answer, which has to be "cmd=<answer> ...".
  std::string ask(std::string_view command, std::string_view words, std::string_view answer,
                  const AwaitedAnswer& awaited);
  // The same where it does not matter how the launcher answers, if it does so soon.
  void say_goodbye();
  // Not answered. From any thread, also while another one waits for an answer.
  void say_abort(int status);

  // From here on the process ends if the launcher does.
  void watch_launcher();

 private:
  void say(std::string_view line);
  std::string read_line(const AwaitedAnswer& awaited);
  void watch();

  int given_;  // as PMI_FD says
  int fd_;     // the same socket, which nobody else closes
  int stop_;   // ends the thread
  std::mutex conversation_;
  std::thread watch_;
};

}  // namespace meshmem

#endif  // MESHMEM_BOOTSTRAP_PMI_CONNECTION_HPP_
