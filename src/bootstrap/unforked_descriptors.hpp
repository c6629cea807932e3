// SPDX-License-Identifier: Apache-2.0
//
// Descriptors that a child of fork does not get, so that a connection ends with the process whose
// it is. Invariant: a descriptor is registered while it is open. Called by the meeting point of a
// unique id and by who goes there: frameworks fork helpers that outlive a PE.
#ifndef MESHMEM_BOOTSTRAP_UNFORKED_DESCRIPTORS_HPP_
#define MESHMEM_BOOTSTRAP_UNFORKED_DESCRIPTORS_HPP_

namespace meshmem {

void keep_from_children(int fd);
void close_kept_from_children(int fd);

}  // namespace meshmem

#endif  // MESHMEM_BOOTSTRAP_UNFORKED_DESCRIPTORS_HPP_
