// SPDX-License-Identifier: Apache-2.0
//
// Hands a shared file to other processes of the same user on the same machine. They open it through
// /proc/<pid>/fd. If they cannot (another process namespace, no /proc), a socket passes it on.
// Invariant: no other user gets the file, and no file of another user is taken. In /proc the kernel
// lets only the same user open the file. At the socket each side asks the kernel who the other side
// is. The receiver checks the file before it uses it. Called at start-up.
#ifndef MESHMEM_BASE_MACHINE_FILE_HANDOVER_HPP_
#define MESHMEM_BASE_MACHINE_FILE_HANDOVER_HPP_

#include <string>

namespace meshmem {

// Returns a text, the *ticket*. Until end_offer() another process gets the file by passing it to
// take_file(). A process can make one offer at a time.
std::string offer_file(int file);
void end_offer();

// Returns the file. Ends the job with a message if both ways fail, or if the file must not be used.
int take_file(const std::string& ticket);

// The two ways, each by itself, for tests. `why_not` says why there is no file.
struct TakenFile {
  int file = -1;
  std::string why_not;
};
TakenFile take_through_proc(const std::string& ticket);
TakenFile take_through_socket(const std::string& ticket);

}  // namespace meshmem

#endif  // MESHMEM_BASE_MACHINE_FILE_HANDOVER_HPP_
