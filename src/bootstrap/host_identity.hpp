// SPDX-License-Identifier: Apache-2.0
//
// Which processes may share memory, for launchers that do not say it. Invariant: two processes on
// one machine since its start, under one name of it, have equal texts. Called by the clients.
#ifndef MESHMEM_BOOTSTRAP_HOST_IDENTITY_HPP_
#define MESHMEM_BOOTSTRAP_HOST_IDENTITY_HPP_

#include <string>

namespace meshmem {

// Containers have names of their own, and so are machines of their own.
std::string identity_of_host();

}  // namespace meshmem

#endif  // MESHMEM_BOOTSTRAP_HOST_IDENTITY_HPP_
