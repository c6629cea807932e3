// SPDX-License-Identifier: Apache-2.0
//
// The meeting point of a job that no launcher has started: a thread of the process that has made
// the unique id. PEs come by TCP, exchange start-up data and are missed when they go.
// Invariant: who does not say the token first gets no byte. It lives as long as its process, which
// need not be a PE. Called by get_unique_id() in join_job.cpp.
#ifndef MESHMEM_BOOTSTRAP_UNIQUEID_SERVER_HPP_
#define MESHMEM_BOOTSTRAP_UNIQUEID_SERVER_HPP_

#include <string>
#include <variant>

#include "bootstrap/uniqueid.hpp"

namespace meshmem {

// Opens a port, and serves it from now on. Or why it cannot. `interface`: see addresses_of_machine.
std::variant<UniqueId, std::string> open_meeting_point(const std::string& interface);

}  // namespace meshmem

#endif  // MESHMEM_BOOTSTRAP_UNIQUEID_SERVER_HPP_
