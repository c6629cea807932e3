# SPDX-License-Identifier: Apache-2.0
# Options for programs built with sanitizers. PMIx and its libevent are built without, so reports
# about them are suppressed. ThreadSanitizer does not see their locks, and memory that they allocate
# once a process is not our leak. ThreadSanitizer ends a process with threads a second later, to
# report their last races: a twentieth will do.
set(ENV{ASAN_OPTIONS} "detect_stack_use_after_return=1:abort_on_error=0")
set(ENV{UBSAN_OPTIONS} "print_stacktrace=1")
set(ENV{LSAN_OPTIONS} "suppressions=${CMAKE_CURRENT_LIST_DIR}/lsan.supp:print_suppressions=0")
set(ENV{TSAN_OPTIONS} "suppressions=${CMAKE_CURRENT_LIST_DIR}/tsan.supp:halt_on_error=1:atexit_sleep_ms=50")
# The list of all PCI devices' names, which PMIx's server has hwloc read, grows by one at a time: a second a job
# where a sanitizer's realloc copies.
set(ENV{HWLOC_COMPONENTS} "-pci")
