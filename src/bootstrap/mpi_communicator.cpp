// SPDX-License-Identifier: Apache-2.0
//
// The MPI standard does not say what a handle is. It is a pointer in Open MPI. It is an int in
// MPICH and its descendants, which have the same values for the constants.
#include "bootstrap/mpi_communicator.hpp"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "base/error.hpp"

namespace meshmem {
namespace {

// Results of MPI_Comm_compare, the same in both: the same communicator; the same ranks in order.
constexpr int kIdentical = 0, kCongruent = 1;
// MPICH's constants.
constexpr int kWorldOfMpich = 0x44000000, kByteOfMpich = 0x4c00010d;

template <typename F>
F* find(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, name));
}

// Ends the job at an error. MPI does that itself, unless the program has set another error handler.
void check(int error, const char* routine) {
  if (error != 0) fatal("{} says {} of the communicator by which PEs start", routine, error);
}

template <typename Handle>
MpiCommunicator describe(const void* communicator, Handle world, Handle byte) {
  const Handle handle = *static_cast<const Handle*>(communicator);
  MpiCommunicator ranks;
  int relation = -1;
  check(find<int(Handle, int*)>("MPI_Comm_rank")(handle, &ranks.rank), "MPI_Comm_rank");
  check(find<int(Handle, int*)>("MPI_Comm_size")(handle, &ranks.size), "MPI_Comm_size");
  check(find<int(Handle, Handle, int*)>("MPI_Comm_compare")(handle, world, &relation),
        "MPI_Comm_compare");
  ranks.is_world = relation == kIdentical || relation == kCongruent;
  ranks.broadcast = [handle, byte](void* data, std::size_t bytes) {
    using Broadcast = int(void*, int, Handle, int, Handle);
    check(find<Broadcast>("MPI_Bcast")(data, static_cast<int>(bytes), byte, 0, handle),
          "MPI_Bcast");
  };
  return ranks;
}

bool flag_of(const char* routine) {
  int flag = 0;
  return find<int(int*)>(routine)(&flag) == 0 && flag != 0;
}

bool has_handles_of_mpich() {
  constexpr std::size_t kMostBytes = 1 << 14;  // MPI_MAX_LIBRARY_VERSION_STRING is at most 8192
  std::string text(kMostBytes, '\0');
  int length = 0;
  auto* const version = find<int(char*, int*)>("MPI_Get_library_version");
  if (version == nullptr || version(text.data(), &length) != 0) return false;
  for (const char* name : {"MPICH", "MVAPICH", "Intel(R) MPI"})
    if (text.find(name) != std::string::npos) return true;
  return false;
}

// Returns why MPI's functions cannot be called now; nullopt: they can.
std::optional<std::string> find_lack_of_mpi() {
  for (const char* name : {"MPI_Initialized", "MPI_Finalized", "MPI_Comm_rank", "MPI_Comm_size",
                           "MPI_Comm_compare", "MPI_Bcast"}) {
    if (dlsym(RTLD_DEFAULT, name) == nullptr)
      return fmt::format(
          "there is no {} in this process: link the program with MPI as a shared library, or start "
          "by a unique id that MPI_Bcast hands over",
          name);
  }
  if (!flag_of("MPI_Initialized")) return "MPI_Init has not been called";
  if (flag_of("MPI_Finalized")) return "MPI_Finalize has been called";
  return std::nullopt;
}

}  // namespace

std::variant<MpiCommunicator, std::string> find_mpi_communicator(const void* communicator) {
  if (communicator == nullptr)
    return "there is no communicator: the address of an MPI_Comm is NULL";
  if (auto lack = find_lack_of_mpi()) return std::move(*lack);
  void* const world = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
  void* const byte = dlsym(RTLD_DEFAULT, "ompi_mpi_byte");
  if (world != nullptr && byte != nullptr) return describe<void*>(communicator, world, byte);
  if (has_handles_of_mpich()) return describe<int>(communicator, kWorldOfMpich, kByteOfMpich);
  return "the program's MPI is neither Open MPI nor made from MPICH: start by a unique id that "
         "MPI_Bcast hands over";
}

void start_mpi_if_linked() {
  constexpr int kThreadMultiple = 3;  // MPI_THREAD_MULTIPLE in Open MPI and in MPICH
  auto* const init = find<int(int*, char***, int, int*)>("MPI_Init_thread");
  if (init == nullptr || flag_of("MPI_Initialized")) return;
  int granted = 0;
  if (init(nullptr, nullptr, kThreadMultiple, &granted) != 0) fatal("MPI_Init_thread failed");
  static const pid_t starter = getpid();  // children of fork run the handler too
  on_exit(
      [](int status, void*) {
        if (status == 0 && getpid() == starter && !flag_of("MPI_Finalized"))
          find<int()>("MPI_Finalize")();
      },
      nullptr);
}

}  // namespace meshmem
