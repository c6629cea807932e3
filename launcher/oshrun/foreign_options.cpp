// SPDX-License-Identifier: Apache-2.0
// The table of other launchers' options. Invariant: a row that is understood has the same meaning
// in every launcher that has the option; where they differ (-c, -N) it is refused.
// Called by options.cpp.
#include "foreign_options.hpp"

#include <algorithm>
#include <iterator>

namespace meshmem {
namespace {

using enum ForeignAnswer;

constexpr std::string_view kMachines =
    "machines are named by --hosts a:4,b:4 or by --hostfile FILE";
constexpr std::string_view kPerMachine =
    "write oshrun -n 4 for this machine, or --hosts a:4,b:4 for several";
constexpr std::string_view kBinding =
    "oshrun binds no PE to a core or place; leave it out (to bind: oshrun -n 4 taskset ...)";
constexpr std::string_view kComponents =
    "oshrun has no components to set; leave it out (for MPI inside: export OMPI_MCA_name=value)";
constexpr std::string_view kOneProgram =
    "all PEs run one program; let it ask shmem_my_pe() what to do";

constexpr ForeignOption kForeignOptions[] = {
    {"np", same_as, "-n"},
    {"ntasks", same_as, "-n"},
    {"wd", same_as, "--wdir"},
    {"chdir", same_as, "--wdir"},
    {"l", same_as, "--tag-output"},
    {"label", same_as, "--tag-output"},
    {"prepend-rank", same_as, "--tag-output"},
    {"V", same_as, "--version"},
    {"H", same_as, "--hosts"},
    {"host", same_as, "--hosts"},
    {"machinefile", same_as, "--hostfile"},

    {"envall", left_out, ""},
    {"genvall", left_out, ""},

    {"f", refused, "write --hostfile FILE, with a line 'a slots=4' for each machine"},
    {"default-hostfile", refused, kMachines},
    {"w", refused, kMachines},
    {"nodelist", refused, kMachines},
    {"nodes", refused, kMachines},
    {"rankfile", refused, kMachines},
    {"rf", refused, kMachines},

    {"c", refused, "it is the number of PEs to some launchers and cores per PE to others; use -n"},
    {"N", refused, kPerMachine},
    {"ppn", refused, kPerMachine},
    {"perhost", refused, kPerMachine},
    {"pernode", refused, kPerMachine},
    {"npernode", refused, kPerMachine},
    {"npersocket", refused, kPerMachine},
    {"ntasks-per-node", refused, kPerMachine},

    {"map-by", refused, kBinding},
    {"bind-to", refused, kBinding},
    {"rank-by", refused, kBinding},
    {"bycore", refused, kBinding},
    {"bynode", refused, kBinding},
    {"byslot", refused, kBinding},
    {"bind-to-core", refused, kBinding},
    {"bind-to-none", refused, kBinding},
    {"cpu-bind", refused, kBinding},
    {"cpu-set", refused, kBinding},
    {"cpus-per-proc", refused, kBinding},
    {"cpus-per-rank", refused, kBinding},
    {"cpus-per-task", refused, kBinding},
    {"report-bindings", refused, kBinding},
    {"nooversubscribe", refused, "oshrun starts as many PEs as -n says; leave it out"},
    {"use-hwthread-cpus", refused, "without -n there is one PE per usable core; use -n"},

    {"env", refused, "write -x NAME=VALUE"},
    {"genv", refused, "write -x NAME=VALUE"},
    {"envlist", refused, "write -x NAME for each"},
    {"genvlist", refused, "write -x NAME for each"},
    {"envnone", refused, "PEs get the whole environment; use oshrun -n 4 env -i ./hello"},
    {"genvnone", refused, "PEs get the whole environment; use oshrun -n 4 env -i ./hello"},
    {"export", refused, "PEs get the whole environment; write -x NAME=VALUE to change it"},
    {"mca", refused, kComponents},
    {"gmca", refused, kComponents},
    {"omca", refused, kComponents},
    {"prtemca", refused, kComponents},
    {"pmixmca", refused, kComponents},
    {"mpi", refused, "oshrun always speaks PMIx; leave it out"},

    {"app", refused, kOneProgram},
    {"configfile", refused, kOneProgram},
    {"multi-prog", refused, kOneProgram},
    {"s", refused, "standard input goes to PE 0; leave it out"},
    {"stdin", refused, "standard input goes to PE 0; leave it out"},
    {"o", refused, "write > FILE behind the command"},
    {"output", refused, "write > FILE behind the command"},
    {"output-filename", refused, "write > FILE behind the command"},
    {"merge-stderr-to-stdout", refused, "write 2>&1 behind the command"},
};

}  // namespace

const ForeignOption* find_foreign_option(std::string_view name) {
  const auto* found = std::find_if(std::begin(kForeignOptions), std::end(kForeignOptions),
                                   [name](const ForeignOption& row) { return row.name == name; });
  return found == std::end(kForeignOptions) ? nullptr : found;
}

}  // namespace meshmem
