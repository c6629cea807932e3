// SPDX-License-Identifier: Apache-2.0
//
// A communicator of the program's own MPI, with which this library is not linked: it looks for
// MPI's functions in the process.
// Invariant: collective over the communicator's ranks, and MPI is left as it was. Called by
// shmemx_init_mpi_comm.
#ifndef MESHMEM_BOOTSTRAP_MPI_COMMUNICATOR_HPP_
#define MESHMEM_BOOTSTRAP_MPI_COMMUNICATOR_HPP_

#include <cstddef>
#include <memory>
#include <string>
#include <variant>

namespace meshmem {

class MpiCommunicator {
 public:
  virtual ~MpiCommunicator() = default;

  int rank() const { return rank_; }
  int size() const { return size_; }
  // All processes of MPI_COMM_WORLD, in its order. All ranks get the same answer.
  bool is_world() const { return is_world_; }
  // From rank 0 to all.
  virtual void broadcast(void* data, std::size_t bytes) = 0;

 protected:
  int rank_ = 0, size_ = 0;
  bool is_world_ = false;
};

// `communicator` is the address of an MPI_Comm. Or why it cannot be used.
std::variant<std::unique_ptr<MpiCommunicator>, std::string> find_mpi_communicator(
    const void* communicator);

}  // namespace meshmem

#endif  // MESHMEM_BOOTSTRAP_MPI_COMMUNICATOR_HPP_
