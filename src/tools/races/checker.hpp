// SPDX-License-Identifier: Apache-2.0
//
// Follows the calls of this PE: what each accesses, what it waits for, and what it tells others.
// Invariant: threads are told apart where the program tells of them (strands). Where the
// standard leaves open whether calls are ordered, they are. Opened and closed by library.
#ifndef MESHMEM_TOOLS_RACES_CHECKER_HPP_
#define MESHMEM_TOOLS_RACES_CHECKER_HPP_

#include <string>

#include "base/hooks/trace_job.hpp"

namespace meshmem::races {

std::string open_checker(const TraceJob& job);  // collective; "" or why not
// Collective: after it no call is checked. PE 0 returns how many races the job has been told of; ""
// if there are none.
std::string close_checker();
void leave_checker();  // alone, by a child of fork: it checks no more

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_CHECKER_HPP_
