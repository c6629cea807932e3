// SPDX-License-Identifier: Apache-2.0
//
// The transport of this job. Invariant: it lives until the process ends, since a thread may still
// wait.
#include "transport/transport.hpp"

#include "base/wait.hpp"

namespace meshmem {

void use_transport(std::unique_ptr<Transport> implementation) {
  the_transport = implementation.release();
  progress_of_waits = [] { the_transport->progress(); };
}

}  // namespace meshmem
