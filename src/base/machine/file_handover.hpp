// SPDX-License-Identifier: Apache-2.0
//
// Hands a shared file to other processes of the same user on the same machine. It goes through
// /proc/<pid>/fd, or where that is closed (other process namespaces, no /proc) through a socket.
// Invariant: another user gets nothing, and nothing of another user's is taken. Through /proc the
// kernel lets in the same user only. At the socket each side asks the kernel who the other is. The
// receiver checks the file before it uses it. Called at start-up.
#ifndef MESHMEM_BASE_MACHINE_FILE_HANDOVER_HPP_
#define MESHMEM_BASE_MACHINE_FILE_HANDOVER_HPP_

#include <string>

namespace meshmem {

// Returns a text by which take_file() in another process gets the file, until end_offer(). One
// offer at a time.
std::string offer_file(int file);
void end_offer();

// Ends the job with a message if the file cannot be had in either way, or must not be used.
int take_file(const std::string& ticket);

// Each of the two ways alone, for the tests.
struct TakenFile {
  int file = -1;
  std::string why_not;
};
TakenFile take_through_proc(const std::string& ticket);
TakenFile take_through_socket(const std::string& ticket);

}  // namespace meshmem

#endif  // MESHMEM_BASE_MACHINE_FILE_HANDOVER_HPP_
