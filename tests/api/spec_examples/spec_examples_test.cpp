// SPDX-License-Identifier: Apache-2.0
//
// Runs the examples of examples.h, several times each: their static variables are used again.
// Invariant: this list has every example of the text of OpenSHMEM 1.6, by the name of its file
// there. Beside it is the function that stands for it, or another place that shows it.
#include <gtest/gtest.h>
#include <shmem.h>

#include "examples.h"

// The list: file here, example of the text: function.
//   setup.c        hello-openshmem, shmem_npes_example: hello. shmem_finalize_example:
// finalize_waits. The first step of shmem_ctx and shmem_ctx_invalid: ask_for_threads
//   transfers.c    shmem_init_example: put_one. shmem_put_example, writing_shmem_example:
//                  put_array_to_all. shmem_p_example, shmem_g_example: single_elements.
//                  shmem_iput_example: strided_put. shmem_ptr_example: direct_access.
//                  shmem_fence_example: fence_for_two. shmem_quiet_example: quiet_then_get.
//                  shmem_put_signal_example: signal_relay
//   atomics.c      shmem_atomic_inc_example, _add_example: count. _fetch_inc_example,
//                  _fetch_add_example: draw_numbers. _compare_swap_example: first_wins.
//                  _swap_example: swap_with_neighbour. amo_scenario_1 to 4, which are undefined:
//                  one_domain_at_a_time, where they are not
//   collectives.c  shmem_barrierall_example: barrier_after_puts. shmem_broadcast_example:
//                  broadcast_from_the_last. shmem_collect_example: collect_a_triangle.
//                  shmem_alltoall_example, shmem_alltoalls_example: transpose.
//                  shmem_reduce_example: find_by_reductions. shmem_scan_example: pack_by_scan.
//                  shmem_sync_example: sync_of_two_teams
//   teams.c        shmem_team_split_strided, shmem_team_translate_pe: every_second.
//                  shmem_team_split_2D: grid. shmem_team_context: rings_of_two_teams
//   contexts.c     shmem_ctx: share_tasks. shmem_ctx_invalid: threads_of_a_library.
//                  shmem_ctx_pipelined_reduce: pipelined_sum. shmem_ctx_session_example:
//                  session_of_updates
//   waits.c        shmem_wait_until_all: wait_for_all. shmem_wait_until_any_all2all_sum:
//                  wait_for_any. shmem_wait_until_any_vector: wait_for_any_of_unlike_values.
//                  shmem_wait_until_some_all2all_sum: wait_for_some. shmem_test_any_example:
//                  test_for_any. shmem_test_some_example: test_for_some. shmem_test_example1:
//                  wait_by_tests
//   locks.c        shmem_lock_example: update_in_two_steps. The locks around the output of
//                  shmem_collect_example and writing_shmem_example: lines_stay_together
//   profiling.c    pshmem_example: count_puts. pshmem_weak_symbol_1 and _2, pshmem_no_weak_symbol
//                  are advice to authors of libraries: tests/compile/symbols.py looks at the names
//   deprecated.c   shmem_barrier_example: barrier_of_even. The rest are examples of earlier
//                  versions
//   elsewhere      shmem_global_exit_example ends the job: api.errors.exit_7 and exit_0. The last
//                  finalize: init_rounds_test.cpp. start_pes: old_program.c. hybrid_mpi_mapping_id,
//                  hybrid_mpi_mapping_id_shmem_comm: examples/15_mpi_interop.cpp

namespace {

void run(const SpecExample* examples) {
  for (int round = 0; round < 3; ++round) {
    for (const SpecExample* example = examples; example->name; ++example) {
      EXPECT_EQ(example->run(), 0) << example->name << ", round " << round;
      shmem_barrier_all();
    }
  }
}

TEST(SpecExamples, OfTransfersHold) { run(transfer_examples); }
TEST(SpecExamples, OfAtomicsHold) { run(atomic_examples); }
TEST(SpecExamples, OfCollectivesHold) { run(collective_examples); }
TEST(SpecExamples, OfTeamsHold) { run(team_examples); }
TEST(SpecExamples, OfContextsHold) { run(context_examples); }
TEST(SpecExamples, OfWaitsHold) { run(wait_examples); }
TEST(SpecExamples, OfLocksHold) { run(lock_examples); }
TEST(SpecExamples, OfProfilingHold) { run(profiling_examples); }
TEST(SpecExamples, OfSetupHold) { run(setup_examples); }
TEST(SpecExamples, OfDeprecatedRoutinesHold) { run(deprecated_examples); }

}  // namespace
