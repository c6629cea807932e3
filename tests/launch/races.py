# SPDX-License-Identifier: Apache-2.0
"""The mistakes in races_program.c, races_loads.c and races_threads.cpp, and what
MESHMEM_CHECK=races has to tell of each.

Imported by the tests of jobs on one machine and on several.
"""
import os
import re

# The routines whose calls race, in any order.
MISTAKES = {
    "put_get": ("shmem_long_put", "shmem_long_get"),
    "p_g": ("shmem_long_p", "shmem_long_g"),
    "put_put": ("shmem_long_put", "shmem_putmem"),
    "get_p": ("shmem_getmem", "shmem_int_p"),
    "iput_get": ("shmem_long_iput", "shmem_long_g"),
    "sync_without_quiet": ("shmem_long_put_nbi", "shmem_long_get"),
    "team_sync_without_quiet": ("shmem_long_put", "shmem_long_get"),
    "signal_of_another_put": ("shmem_long_put", "shmem_long_get"),
    "flag_without_fence": ("shmem_long_put", "shmem_long_get"),
    "last_pe_without_fence": ("shmem_long_put", "shmem_long_get"),
    "flag_without_context_fence": ("shmem_ctx_long_put_nbi", "shmem_long_get"),
    "flag_before_data": ("shmem_long_put", "shmem_long_get"),
    "dest_before_quiet": ("shmem_long_get_nbi", "shmem_long_put"),
    "dest_before_destroy": ("shmem_ctx_long_get_nbi", "shmem_long_put"),
    "source_before_quiet": ("shmem_long_put_nbi", "shmem_long_get"),
    "own_source_before_quiet": ("shmem_long_put_nbi", "shmem_long_get"),
    "atomic_fetch_put": ("shmem_long_atomic_fetch", "shmem_long_put"),
    "atomics_of_two_widths": ("shmem_int_atomic_add", "shmem_long_atomic_add"),
    "atomics_of_a_float": ("shmem_float_atomic_set", "shmem_int_atomic_fetch"),
    "get_of_own_put": ("shmem_long_put", "shmem_long_get"),
    "quiet_of_another_context": ("shmem_ctx_long_put", "shmem_ctx_long_p"),
    "put_of_an_earlier_context": ("shmem_ctx_long_put_nbi", "shmem_long_g"),
    "put_after_many_teams": ("shmem_ctx_long_put_nbi", "shmem_long_g"),
    "dest_of_an_earlier_context": ("shmem_ctx_long_get_nbi", "shmem_long_g"),
    "fence_of_a_later_context": ("shmem_ctx_long_put", "shmem_long_get"),
    "atomics_of_two_teams": ("shmem_ctx_long_atomic_add", "shmem_long_atomic_add"),
    "atomic_get": ("shmem_long_atomic_add", "shmem_long_g"),
    "atomic_put": ("shmem_long_atomic_fetch_inc", "shmem_long_put"),
    "swap_get": ("shmem_long_atomic_compare_swap", "shmem_long_g"),
    "failed_swap_put": ("shmem_long_atomic_compare_swap", "shmem_long_put"),
    "signal_get": ("shmem_signal_set", "shmem_uint64_g"),
    "dest_of_reduction": ("shmem_long_sum_reduce", "shmem_long_get"),
    "source_of_reduction": ("shmem_long_put", "shmem_long_max_reduce"),
    "dest_of_collect": ("shmem_long_fcollect", "shmem_long_p"),
    "source_of_alltoallv": ("shmem_long_p", "shmemx_long_alltoallv"),
    "dest_of_alltoallv": ("shmemx_long_alltoallv", "shmem_long_get"),
    "dest_of_alltoallv_of_bytes": ("shmemx_alltoallvmem", "shmem_char_p"),
    "lock_of_one": ("shmem_long_put", "shmem_long_put"),
    "wrong_signal": ("shmem_long_put_signal_nbi", "shmem_long_get"),
    "count_without_quiet": ("shmem_long_put", "shmem_long_get"),
    "told_by_a_third": ("shmem_long_put", "shmem_long_get"),
    "requests_of_nothing": ("shmem_long_g", "shmem_long_p"),
    "no_answer": ("shmem_long_put_signal", "shmem_long_get"),
    "reused_signal": ("shmem_long_put_signal", "shmem_long_get"),
}
# Mistakes that end the job, by the routine that says so and what it says.
REFUSED = {
    "negative_count": ("shmem_long_put", r"-24\?"),
    "negative_stride": ("shmem_long_iput", r"-3\?"),
    "negative_reduction": ("shmem_long_sum_reduce", r"-3\?"),
    "destroyed_team": ("shmem_team_sync", "is not a team"),
    "destroyed_context": ("shmem_ctx_long_p", "the context has been destroyed"),
    "private_context": ("shmem_ctx_long_p", "SHMEM_CTX_PRIVATE context is used by another thread"),
    "serialized_context": ("shmem_ctx_long_p", "two threads use a SHMEM_CTX_SERIALIZED context"),
}
# Mistakes of which a line is printed, while the job goes on.
WARNED = {
    "serialized_threads": ("shmem_ctx_long_p", "two threads call at once"),
    "single_thread": ("shmem_ctx_long_p", "called by another thread than shmem_init"),
}
# The same, of MESHMEM_CHECK=1.
REFUSED_BY_CALLS = {
    "negative_count": ("shmem_long_put", r"-24\?"),
    "freed_block": ("shmem_long_put", "are in no block of the symmetric heap"),
    "unaligned_atomic": ("shmem_long_atomic_inc", "is not aligned: .* multiple of 8"),
}
# Where a PE waits by loads of its own, which are not seen.
MISTAKES_OF_POLLING = {
    "own_loads": ("shmem_long_put", "shmem_long_get"),
    "own_loads_of_signal": ("shmem_long_put", "shmem_long_get"),
    **{name: MISTAKES[name]
       for name in ("put_get", "sync_without_quiet", "signal_of_another_put", "dest_before_quiet",
                    "source_before_quiet", "dest_of_reduction", "told_by_a_third")},
}
# Accesses by the program itself.
LOAD, STORE, ATOMIC = (f"{what} of the program" for what in ("a load", "a store", "an atomic"))
MISTAKES_OF_LOADS = {
    "load_before_quiet": (LOAD, "shmem_long_get_nbi"),
    "store_before_quiet": (STORE, "shmem_long_put_nbi"),
    "copy_before_quiet": (LOAD, "shmem_long_get_nbi"),
    "puts_before_quiet": (LOAD, "shmem_char_get_nbi"),
    "fputs_before_quiet": (LOAD, "shmem_char_get_nbi"),
    "fwrite_before_quiet": (LOAD, "shmem_char_get_nbi"),
    "write_before_quiet": (LOAD, "shmem_char_get_nbi"),
    "struct_before_quiet": (LOAD, "shmem_getmem_nbi"),
    "own_dest_before_quiet": (LOAD, "shmem_long_get_nbi"),
    "own_source_before_quiet": (STORE, "shmem_long_put_nbi"),
    "fetch_before_quiet": (LOAD, "shmem_long_atomic_fetch_inc_nbi"),
    "store_and_put": (STORE, "shmem_long_put"),
    "load_and_put": (LOAD, "shmem_long_put"),
    "bytes_of_a_cell": (STORE, "shmem_char_p"),
    "store_through_pointer": (STORE, "shmem_long_g"),
    "load_through_pointer": (LOAD, STORE),
    "load_before_signal": (LOAD, "shmem_long_put_signal"),
    "source_of_reduction": (STORE, "shmem_long_sum_reduce"),
    "dest_of_reduction": (STORE, "shmem_long_sum_reduce"),
    "atomic_flag_without_fence": (LOAD, "shmem_long_put"),
    "volatile_flag_without_fence": (LOAD, "shmem_long_put"),
    "atomic_store_before_data": (LOAD, STORE),
    "lock_of_one": (STORE, STORE),
    "atomic_and_put": (ATOMIC, "shmem_long_put"),
    "load_after_handing_over": (LOAD, "shmem_long_p"),
    "store_after_handing_over": (STORE, "shmem_long_p"),
    "load_of_others_after_handing_over": (LOAD, STORE),
    "halves_of_a_cell": (STORE, "shmem_int_p"),
    "many_stores_and_put": (STORE, "shmem_long_p"),
    "many_loads_and_put": (LOAD, "shmem_long_put"),
}
# Between threads, sections and tasks of a PE, and of those with another PE.
MISTAKES_OF_THREADS = {
    "load_beside_get": (LOAD, "shmem_long_get_nbi"),
    "store_beside_put": (STORE, "shmem_long_put"),
    "single_without_wait": (LOAD, "shmem_long_get_nbi"),
    "sections_of_one": (LOAD, "shmem_long_get_nbi"),
    "task_without_wait": (LOAD, "shmem_long_get_nbi"),
    "load_outside_of_critical": (LOAD, "shmem_long_get_nbi"),
    "sync_of_another_thread": (LOAD, "shmem_long_put"),
    "wait_of_another_thread": (LOAD, "shmem_long_put"),
    "load_before_join": (LOAD, "shmem_long_get_nbi"),
    "load_without_mutex": (LOAD, "shmem_long_get_nbi"),
    "atomic_flag_before_get": (LOAD, "shmem_long_get_nbi"),
    "wait_of_an_ended_thread": (LOAD, "shmem_long_put"),
}
OF_ONE_PE = ("get_of_own_put", "quiet_of_another_context", "put_of_an_earlier_context",
             "put_after_many_teams",
             "dest_of_an_earlier_context", "dest_before_quiet",
             "dest_before_destroy", "source_before_quiet", "own_source_before_quiet",
             "load_before_quiet", "store_before_quiet", "copy_before_quiet", "puts_before_quiet",
             "fputs_before_quiet", "fwrite_before_quiet", "write_before_quiet",
             "struct_before_quiet", "own_dest_before_quiet", "fetch_before_quiet",
             "load_beside_get", "store_beside_put", "single_without_wait", "sections_of_one",
             "task_without_wait", "load_outside_of_critical", "load_before_join",
             "load_without_mutex", "atomic_flag_before_get")


def n_pes_of(name):
    return 3 if name == "told_by_a_third" else 2


def assert_told(test, result, name, mistakes, program):
    """One race, of the two calls that the table says, with the PEs and the places of both."""
    told = re.findall(r"a race for [^\n]*\n"
                      r"  first (?:written|read)[a-z ]* by PE (\d+): ([\w ]+?) in ([^\n]*)\n"
                      r"  then (?:written|read)[a-z ]* by PE (\d+): ([\w ]+?) in ([^\n]*)\n",
                      result.err)
    test.assertEqual(len(told), 1, result)
    pe, routine, place, other_pe, other, other_place = told[0]
    test.assertEqual(sorted((routine, other)), sorted(mistakes[name]), result)
    test.assertEqual(pe == other_pe, name in OF_ONE_PE, result)
    for where in (place, other_place):
        test.assertRegex(
            where,
            rf"^.+ at (?:{os.path.basename(program)}\+0x[0-9a-f]+|races_\w+\.c(?:pp)?:[0-9]+)$")
    test.assertRegex(result.err, r"MESHMEM_CHECK=races: 1 race(, found \d+ times)?; the job ends "
                                 "with status 1")
