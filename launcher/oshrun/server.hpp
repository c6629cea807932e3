// SPDX-License-Identifier: Apache-2.0
// The PMIx server: tells the PEs who they are and carries what they exchange.
// Invariant: PMIx's own threads run nothing of oshrun's but the upcalls in server.cpp, which only
// post to the mailbox, and the accept() in visitors.cpp. The job's name is a secret: who knows it
// can be a PE.
// Made by main() with all signals blocked; used by running_job.cpp.
#ifndef MESHMEM_OSHRUN_SERVER_HPP_
#define MESHMEM_OSHRUN_SERVER_HPP_

#include <pmix_server.h>

#include <string>
#include <vector>

#include "mailbox.hpp"
#include "pmix_info_list.hpp"

namespace meshmem {

struct ServerPlan {
  int pes;
  int fake_nodes;  // 1: the machine is what it is
  std::string scratch_path;
};

class Server {
 public:
  Server(const ServerPlan& plan, Mailbox& mailbox);
  Server(const Server&) = delete;

  // For each PE in turn the NAME=VALUE strings by which it finds the server.
  std::vector<std::vector<std::string>> register_pes();

  const char* job_name() const { return job_name_; }

  // Never closed: PMIx's end waits for whatever its thread still does, which may be for ever, and
  // has nothing to give back that the end of the process and of the scratch folder does not.

 private:
  // Throws Failure with the true cause, where one is found.
  void check(int status, const char* doing) const;
  void register_job();
  void describe_pes_of(int node, PmixInfoList& job) const;
  std::vector<std::string> register_pe(int pe, int node);
  std::string node_name(int node) const;

  ServerPlan plan_;
  Mailbox& mailbox_;
  std::vector<std::vector<int>> nodes_;  // the PEs of each
  pmix_nspace_t job_name_{};
};

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_SERVER_HPP_
