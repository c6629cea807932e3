// SPDX-License-Identifier: Apache-2.0
//
// Starts by a communicator of the program's MPI. This library is not linked with MPI: it looks up
// MPI's functions in the process.
// Invariant: the calls are collective over the communicator's ranks. Called by the init routines in
// src/api.
#ifndef MESHMEM_BOOTSTRAP_MPI_COMMUNICATOR_HPP_
#define MESHMEM_BOOTSTRAP_MPI_COMMUNICATOR_HPP_

#include <cstddef>
#include <functional>
#include <string>
#include <variant>

namespace meshmem {

struct MpiCommunicator {
  int rank = 0, size = 0;
  // All processes of MPI_COMM_WORLD, in its order. All ranks get the same answer.
  bool is_world = false;
  std::function<void(void* data, std::size_t bytes)> broadcast;  // from rank 0 to all
};

// `communicator`: the address of an MPI_Comm. If it cannot be used, returns a text that says why.
std::variant<MpiCommunicator, std::string> find_mpi_communicator(const void* communicator);

// Starts MPI if the program is linked with it and has not started it. At an exit with status 0, MPI
// is then finalized, unless the program has done so.
void start_mpi_if_linked();

}  // namespace meshmem

#endif  // MESHMEM_BOOTSTRAP_MPI_COMMUNICATOR_HPP_
