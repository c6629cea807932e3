// SPDX-License-Identifier: Apache-2.0
//
// The program's own MPI and its communicators. This library is not linked with MPI: it looks for
// MPI's functions in the process.
// Invariant: collective over the communicator's ranks. Called by the starts of src/api.
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

// `communicator` is the address of an MPI_Comm. Returns a text that says why if it cannot be used.
std::variant<MpiCommunicator, std::string> find_mpi_communicator(const void* communicator);

// Starts MPI where the program is linked with it and has not started it. The end of the program
// with status 0 ends MPI then, unless the program has done so.
void start_mpi_if_linked();

}  // namespace meshmem

#endif  // MESHMEM_BOOTSTRAP_MPI_COMMUNICATOR_HPP_
