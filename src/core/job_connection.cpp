// SPDX-License-Identifier: Apache-2.0
//
// The steps of a connection, and the meetings of all PEs.
// Invariant: join() comes first; connect() knows the order of the other steps.
#include "core/job_connection.hpp"

#include <sched.h>

#include <vector>

#include "base/error.hpp"
#include "base/machine/file_handover.hpp"
#include "base/machine/machine.hpp"
#include "base/status/job_record.hpp"
#include "base/status/own_status.hpp"
#include "base/waiting/schedule_fuzzing.hpp"
#include "base/waiting/wait.hpp"
#include "bootstrap/job.hpp"
#include "core/agreement.hpp"
#include "core/card_exchange.hpp"
#include "memory/heap_watch.hpp"

namespace meshmem {

void JobConnection::join(const Environment& environment) {
  open_launcher_board();
  wait_policy = {.polls = 1,
                 .timeout_seconds = environment.start_timeout,
                 .timeout_name = "MESHMEM_START_TIMEOUT"};
  const Job& job = connect_to_launcher(environment.start_timeout);
  n_pes_ = job.n_pes;
  me_ = job.pe;
}

void JobConnection::connect(const Environment& environment, const std::string& tuning) {
  if (me_ == 0) note_for_oshrun(JobNote::begun);
  wait_policy.longest_nap_us =
      longest_nap_us_for(static_cast<std::size_t>(pes_of_machine()), allowed_cpus().size());
  if (environment.fuzz_seed) start_schedule_fuzzing(*environment.fuzz_seed, me_);
  choose_network(environment.network);
  const StaticData statics = find_static_data();
  open_memory(environment, statics.bytes());
  fill_directory_entry(environment, tuning, statics.fingerprint);
  memory_.meet("attach to the shared memory of the node");
  find_nodes(environment.start_timeout);
  find_segments();
  if (facts_.program != 0) {
    share_statics(statics);
  } else {
    debug("the PEs run different programs, so their static data is not symmetric");
  }
  more_pes_than_cores_ = pes_outnumber_cores(memory_.directory(), memory_.n(), core_share_);
  if (uses_network_) network_.connect(me_, memory_, nodes_, facts_);
  meet("share the static data");
  end_offer();
  memory_.arena().close_file();
}

void JobConnection::choose_network(NetworkKind wanted) {
  const int far_pes = n_pes_ - static_cast<int>(joined_job().node_pes.size());
  uses_network_ = far_pes != 0;
  if (uses_network_ && wanted == NetworkKind::none) {
    if (me_ != 0) wait_for_others_to_report();
    fatal(
        "{} of the {} PEs are on other machines, which MESHMEM_NETWORK=none does not reach; unset "
        "it, or start all PEs on one machine",
        far_pes, n_pes_);
  }
}

int JobConnection::pes_of_machine() const {
  const Job& job = joined_job();
  return job.has_fake_nodes ? job.n_pes : static_cast<int>(job.node_pes.size());
}

void JobConnection::open_memory(const Environment& environment, std::size_t static_bytes) {
  memory_.open({.pes = joined_job().node_pes,
                .me = me_,
                .exchange = uses_network_ ? Among::node : Among::job,
                .has_wire_addresses = uses_network_,
                .static_bytes = static_bytes,
                .heap_bytes = heap_bytes(environment, pes_of_machine()),
                .start_timeout = environment.start_timeout});
  if (uses_network_) {
    network_.open_wire(environment, joined_job().has_fake_nodes, memory_.is_first());
    memory_.tell_wire_address(network_.wire_address());
  }
}

void JobConnection::fill_directory_entry(const Environment& environment, const std::string& tuning,
                                         std::uint64_t program) {
  DirectoryEntry& mine = memory_.mine();
  mine.pe = me_;
  mine.program = program;
  tell_settings(mine, memory_.layout(), environment, tuning);
  if (uses_network_) mine.settings.wire = static_cast<std::uint64_t>(network_.wire_kind());
  sched_getaffinity(0, sizeof mine.cpus, &mine.cpus);
  mine.heap_alignment = alignment_of(memory_.base_of(memory_.index(), RemoteSegment::heap));
}

// Each of several nodes has its own arena with a directory, so the nodes exchange cards.
void JobConnection::find_nodes(double start_timeout) {
  const DirectoryEntry* directory = memory_.directory();
  if (uses_network_) exchange_cards(memory_, start_timeout);
  require_same_settings(directory, memory_.n(), memory_.index());
  if (uses_network_) {
    nodes_ = Nodes(n_pes_, me_, memory_.index());
    std::vector<MachineAddresses> others;
    facts_ = read_cards(memory_, nodes_, core_share_, others);
    network_.admit_only(others, start_timeout);
  } else {
    facts_ = facts_of_node(directory, memory_.layout());
    core_share_.pes = n_pes_;
  }
}

std::size_t JobConnection::gap() const { return facts_.is_checked ? kRedZone : 0; }

void JobConnection::find_segments() {
  heap_of_pe_.assign(static_cast<std::size_t>(n_pes_), kFar);
  statics_of_pe_.assign(static_cast<std::size_t>(n_pes_), kFar);
  for (const int pe : memory_.pes()) {
    if (!nodes_.is_near(pe)) continue;
    const int index = memory_.index_of(pe);
    const auto place = static_cast<std::size_t>(pe);
    heap_of_pe_[place] = memory_.base_of(index, RemoteSegment::heap);
    statics_of_pe_[place] = memory_.base_of(index, RemoteSegment::statics);
  }
  heap_ = {reinterpret_cast<std::uintptr_t>(heap_of_pe_[static_cast<std::size_t>(me_)]),
           facts_.heap_bytes(), heap_of_pe_.data()};
}

// Moves this PE's static data to the arena. From then on it is symmetric.
void JobConnection::share_statics(const StaticData& statics) {
  std::byte*& mine = statics_of_pe_[static_cast<std::size_t>(me_)];
  move_to_shared_memory(statics, memory_.arena().file(), memory_.layout().statics(memory_.index()),
                        mine);
  mine = reinterpret_cast<std::byte*>(statics.begin);
  memory_.share_own_statics(mine);
  statics_ = {statics.begin, statics.bytes(), statics_of_pe_.data()};
}

// The first PEs of the nodes also meet, and find the highest sequence number of any team.
void JobConnection::meet(const char* where) {
  memory_.meet(where);
  if (!network_.is_connected()) return;
  if (memory_.is_first()) {
    std::atomic<std::uint64_t>& highest = memory_.arena().header().highest_sequence;
    highest.store(network_.meet(memory_.highest_sequence(), where), std::memory_order_relaxed);
  }
  memory_.meet(where);
}

std::uint64_t JobConnection::greatest_of_nodes(std::uint64_t number, const char* where) {
  if (!network_.is_connected()) return number;
  std::atomic<std::uint64_t>& agreed = memory_.arena().header().agreed;
  if (memory_.is_first()) agreed.store(network_.meet(number, where), std::memory_order_relaxed);
  memory_.meet(where);
  number = agreed.load(std::memory_order_relaxed);
  memory_.meet(where);  // all PEs have read `agreed`
  return number;
}

// Uses two words of the header. If each PE had words of its own, every PE would have to map pages
// of all others.
JobConnection::StartOutcome JobConnection::compare_starts(bool has_failed, const char* where) {
  ++starts_;
  ArenaHeader& header = memory_.arena().header();
  (has_failed ? header.failed_start : header.good_start).store(starts_);
  memory_.meet(where);
  if (network_.is_connected()) {
    if (memory_.is_first())
      for (std::atomic<std::uint64_t>* last : {&header.failed_start, &header.good_start})
        last->store(network_.meet(last->load(), where));
    memory_.meet(where);
  }
  return {header.failed_start.load() == starts_, header.good_start.load() == starts_};
}

void JobConnection::spread_over_cores(bool is_wanted) {
  meshmem::spread_over_cores(memory_.directory(), memory_.n(), memory_.index(), core_share_,
                             is_wanted, [this] { memory_.meet("tell on which cores they run"); });
}

}  // namespace meshmem
