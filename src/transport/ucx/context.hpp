// SPDX-License-Identifier: Apache-2.0
//
// Opens UCX's context, which knows the networks of this machine, and sets UCX's settings.
// Invariant: a UCX_ variable of the user overrides the settings made here, except for the device.
// Used by UcxWire and by the list of networks.
#ifndef MESHMEM_TRANSPORT_UCX_CONTEXT_HPP_
#define MESHMEM_TRANSPORT_UCX_CONTEXT_HPP_

#include <ucp/api/ucp.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace meshmem {

struct CloseContext {
  void operator()(ucp_context_h context) const { ucp_cleanup(context); }
};
using UcxContext = std::unique_ptr<ucp_context, CloseContext>;

// `device`, `rdma_only`: as in WireRequest. Returns nullptr, and a line in *error, if UCX finds no
// network.
UcxContext open_context(const std::string& device, std::string* error, bool rdma_only = false);

// All networks of the context, as "tcp over eth0".
std::vector<std::string> networks_of(ucp_context_h context);
// The networks that UCX uses from this process to itself; empty if it cannot connect.
std::vector<std::string> networks_to_itself(ucp_context_h context);

// The networks in a text that UCX has printed: one from each line that begins with "# " and `word`.
std::vector<std::string> networks_in(const std::string& printed, const std::string& word);
// Returns the text that print() writes to its file.
std::string text_of(const std::function<void(FILE*)>& print);

std::string ucx_version();
std::string reason_of(ucs_status_t status);  // for the end of a line: lower case, no full stop

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_UCX_CONTEXT_HPP_
