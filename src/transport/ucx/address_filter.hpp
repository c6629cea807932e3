// SPDX-License-Identifier: Apache-2.0
//
// Which addresses may connect to a listening TCP socket. The kernel compares, before UCX knows of a
// connection: it drops other packets without an answer.
// Invariant: a connection keeps the filter with which it was accepted. Used by sockets.cpp.
#ifndef MESHMEM_TRANSPORT_UCX_ADDRESS_FILTER_HPP_
#define MESHMEM_TRANSPORT_UCX_ADDRESS_FILTER_HPP_

#include <string>
#include <vector>

namespace meshmem {

// False: this kernel has no such filters.
bool admit_nobody(int listening);

// After admit_nobody(). `addresses`: IP addresses as bytes, ascending; those of the socket's own
// family count. Where the kernel has no room for all of them, their neighbours are admitted too.
void admit_only(int listening, const std::vector<std::string>& addresses);

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_UCX_ADDRESS_FILTER_HPP_
