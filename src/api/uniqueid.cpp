// SPDX-License-Identifier: Apache-2.0
//
// Start by a unique id (include/shmemx.h), for processes that no launcher has started, and by a
// communicator of MPI, which hands the id over.
// Invariant: the program gets the place that it asks for, or the start fails with a line.
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "api/entry.hpp"
#include "base/error.hpp"
#include "base/settings/foreign_variables.hpp"
#include "bootstrap/job.hpp"
#include "bootstrap/mpi_communicator.hpp"
#include "library/init_finalize.hpp"
#include "meshmem/compat/other_names.h"
#include "shmemx.h"

namespace meshmem {
namespace {

static_assert(sizeof(UniqueIdBytes) == sizeof(shmemx_uniqueid_t));

int refuse(const char* routine, const std::string& why) {
  print_line(fmt::format("{}: {}", routine, why));
  return 1;
}

// Checks the arguments and takes the place, before anything is opened. Returns nullopt, or what is
// wrong.
std::optional<std::string> prepare(unsigned flags, int rank, int nranks,
                                   const shmemx_uniqueid_t* id) {
  if (flags != SHMEMX_INIT_WITH_UNIQUEID)
    return fmt::format("flags are {}, but must be SHMEMX_INIT_WITH_UNIQUEID", flags);
  if (!id) return "there is no unique id";
  if (rank < 0 || rank >= nranks)
    return fmt::format("rank {} of {} is not from 0 to the number of ranks less 1", rank, nranks);
  if (auto error = reason_to_refuse_environment()) return error;
  UniqueIdBytes bytes;
  std::copy(std::begin(id->bytes), std::end(id->bytes), bytes.begin());
  return take_place(bytes, rank, nranks);
}

int start_in_place(const char* routine, int rank, int nranks) {
  const auto error = start_or_say_why(routine, SHMEM_THREAD_MULTIPLE, Place{rank, nranks});
  return error ? refuse(routine, *error) : 0;
}

// Returns the first rank's id. nullopt on all ranks if it cannot be made; the first rank says why.
std::optional<UniqueId> broadcast_unique_id(const char* routine,
                                            const MpiCommunicator& communicator) {
  UniqueIdBytes bytes{};
  if (communicator.rank == 0) {
    const auto made = get_unique_id_of_communicator();
    if (const auto* error = std::get_if<std::string>(&made)) refuse(routine, *error);
    if (const auto* id = std::get_if<UniqueId>(&made)) bytes = pack_unique_id(*id);
  }
  communicator.broadcast(bytes.data(), bytes.size());
  return unpack_unique_id(bytes);
}

int start_by_mpi_comm(const void* communicator) {
  constexpr const char* kRoutine = "shmemx_init_mpi_comm";
  if (const auto error = reason_to_refuse_environment()) return refuse(kRoutine, *error);
  const auto found = find_mpi_communicator(communicator);
  if (const auto* error = std::get_if<std::string>(&found)) return refuse(kRoutine, *error);
  const auto& ranks = std::get<MpiCommunicator>(found);
  // MPI and this library ask the same PMIx server who they are.
  if (!ranks.is_world || !names_pmix_server(environ)) {
    const std::optional<UniqueId> id = broadcast_unique_id(kRoutine, ranks);
    if (!id) return 1;
    if (const auto error = take_place_in_communicator(*id, ranks.rank, ranks.size))
      return refuse(kRoutine, *error);
  }
  return start_in_place(kRoutine, ranks.rank, ranks.size);
}

}  // namespace

MESHMEM_EXTENSION_ENTRY(int, get_uniqueid, (shmemx_uniqueid_t * id)) {
  constexpr const char* kRoutine = "shmemx_get_uniqueid";
  if (const auto error = reason_to_refuse_environment()) return refuse(kRoutine, *error);
  const auto made = get_unique_id();
  if (const auto* error = std::get_if<std::string>(&made)) return refuse(kRoutine, *error);
  const UniqueIdBytes bytes = pack_unique_id(std::get<UniqueId>(made));
  std::copy(bytes.begin(), bytes.end(), id->bytes);
  return 0;
}

MESHMEM_EXTENSION_ENTRY(int, init_attr,
                        (unsigned flags, int rank, int nranks, const shmemx_uniqueid_t* id)) {
  constexpr const char* kRoutine = "shmemx_init_attr";
  if (const auto error = prepare(flags, rank, nranks, id)) return refuse(kRoutine, *error);
  return start_in_place(kRoutine, rank, nranks);
}

MESHMEM_EXTENSION_ENTRY(int, init_mpi_comm, (const void* communicator)) {
  return start_by_mpi_comm(communicator);
}

extern "C" MESHMEM_VISIBLE void shmemx_start_mpi_if_linked() { start_mpi_if_linked(); }

extern "C" MESHMEM_VISIBLE void shmemx_start_by_mpi_comm(const void* communicator) {
  if (start_by_mpi_comm(communicator) != 0) end_job_on_error();
}

}  // namespace meshmem
