// SPDX-License-Identifier: Apache-2.0
//
// Sets which addresses may connect to a listening TCP socket. The kernel drops packets from others
// without an answer, so UCX never sees their connections.
// Invariant: a connection keeps the filter with which it was accepted. Used by sockets.cpp.
#ifndef MESHMEM_TRANSPORT_UCX_ADDRESS_FILTER_HPP_
#define MESHMEM_TRANSPORT_UCX_ADDRESS_FILTER_HPP_

#include <string>
#include <vector>

namespace meshmem {

// From now on no address may connect. False: this kernel has no such filters.
bool admit_nobody(int listening);

// Called after admit_nobody(). `addresses`: IP addresses as bytes, ascending. Those of another
// family than the socket's are ignored. If they do not fit in a filter, addresses between them, or
// with the same prefix, are admitted too.
void admit_only(int listening, const std::vector<std::string>& addresses);

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_UCX_ADDRESS_FILTER_HPP_
