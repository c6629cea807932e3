// SPDX-License-Identifier: Apache-2.0
// The PMIx server: tells the PEs who they are and carries what they exchange.
// Invariant: PMIx's own threads run nothing of oshrun's but the upcalls in server.cpp, which only
// post to the event pipe, and the accept() in visitors.cpp. The job's name is a secret: a
// process that knows it can be a PE.
// Called by main() with all signals blocked.
#ifndef MESHMEM_OSHRUN_SERVER_HPP_
#define MESHMEM_OSHRUN_SERVER_HPP_

#include <optional>
#include <string>
#include <vector>

#include "pipe.hpp"

namespace meshmem {

struct ServerEvent {
  enum Kind { kConnected, kFinalized, kAborted, kFailed, kRefused };
  Kind kind;
  int pe;
  int status;  // kAborted, kFailed: what the PE wants the job to end with; kRefused: the user's id
};

// The pipe by which PMIx's threads tell the main loop of events. The kernel never splits a write of
// so few bytes. PMIx lets a PE go on only after its event has been posted. So a loop that sees a
// PE's end and then looks here finds the event, and knows how to judge the end.
class EventPipe {
 public:
  EventPipe() : pipe_(make_pipe()) {
    check(::fcntl(pipe_.read_end.get(), F_SETFL, O_NONBLOCK), "set up a pipe");
  }

  void post(const ServerEvent& event) {
    [[maybe_unused]] ssize_t written = ::write(pipe_.write_end.get(), &event, sizeof(event));
  }
  std::optional<ServerEvent> take() {
    ServerEvent event;
    if (::read(pipe_.read_end.get(), &event, sizeof(event)) != sizeof(event)) return std::nullopt;
    return event;
  }
  int fd() const { return pipe_.read_end.get(); }

 private:
  Pipe pipe_;
};

struct ServerPlan {
  int pes;
  int fake_nodes;  // 1: the PEs are on one real node
  std::string scratch_path;
};

struct ServedJob {
  std::string name;
  // For each PE in turn the NAME=VALUE strings by which it finds the server.
  std::vector<std::vector<std::string>> variables;
};

// Starts the server and describes the job to it. Throws Failure, with the true cause if one is
// found. The server is never closed. PMIx would wait for its own thread, perhaps for ever, and
// would free nothing that the end of the process and of the scratch folder does not free.
ServedJob start_server(const ServerPlan& plan, EventPipe& events);

// From now on refuses connections of other users (visitors.cpp), and reports the first such user to
// the pipe. Called before PMIx listens.
void admit_own_user_only(EventPipe& refusals);

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_SERVER_HPP_
