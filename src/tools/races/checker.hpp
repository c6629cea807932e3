// SPDX-License-Identifier: Apache-2.0
//
// Follows the calls of this PE: what each one accesses, what it waits for, and what other PEs learn
// by it.
// Invariant: threads are told apart if the program reports them (strands). If the standard leaves
// open whether two calls are ordered, they count as ordered. Opened and closed by library.
#ifndef MESHMEM_TOOLS_RACES_CHECKER_HPP_
#define MESHMEM_TOOLS_RACES_CHECKER_HPP_

#include <string>

#include "base/hooks/trace_job.hpp"

namespace meshmem::races {

std::string open_checker(const TraceJob& job);  // collective; "" or why not
// Collective: after it no call is checked. On PE 0 it returns a text with the number of races that
// the job has reported; "" if there were no races.
std::string close_checker();
void leave_checker();  // not collective; a child of fork calls it, and checks nothing from then on

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_CHECKER_HPP_
