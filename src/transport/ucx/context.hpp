// SPDX-License-Identifier: Apache-2.0
//
// UCX's context, which knows the networks of this machine, and what UCX is told.
// Invariant: what the user says by a variable of UCX goes before what is told here. Used by UcxWire
// and by the list of networks.
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

// `device`, `rdma_only`: as in WireRequest. nullptr and a line in *error if UCX finds no network.
UcxContext open_context(const std::string& device, std::string* error, bool rdma_only = false);

// As in "tcp over eth0".
std::vector<std::string> networks_of(ucp_context_h context);
// Those that UCX takes from this process to itself; empty if it cannot.
std::vector<std::string> networks_to_itself(ucp_context_h context);

// Networks of a text that UCX has printed, from its lines that begin with `word`.
std::vector<std::string> networks_in(const std::string& printed, const std::string& word);
std::string text_of(const std::function<void(FILE*)>& print);

std::string ucx_version();
std::string reason_of(ucs_status_t status);  // a line's end: lower case, no full stop

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_UCX_CONTEXT_HPP_
