// SPDX-License-Identifier: Apache-2.0
//
// The one table of environment variables. Define X, include this, undefine X:
//   X(name, member of Environment, Kind, default, what it does)
// X_FOR_TESTS, which may be defined too, reads the rows that only tests of meshmem itself use.
// Parser, SHMEM_INFO and docs/environment.md read all that they know of a variable from here. A
// SHMEM_ variable also answers to its old SMA_ name. No include guard: it is read several times.

#ifndef X_FOR_TESTS
#define X_FOR_TESTS X
#endif

X(SHMEM_VERSION, version, presence, false, "Print the version of the library at start-up.")
X(SHMEM_INFO, info, presence, false, "Print this list of environment variables at start-up.")
X(SHMEM_SYMMETRIC_SIZE, symmetric_size, heap_size, 0,
  "Bytes of symmetric heap for each PE. It is address space: memory is taken only when touched. 0 "
  "means the PE's share of half of the machine's memory; 256 MiB where kernels run on GPUs.")
X(SHMEM_DEBUG, debug, presence, false,
  "Print debugging messages, such as why an allocation failed, a variable is not known, or a call "
  "takes a slow way.")
X(MESHMEM_REDUCE_ALGORITHM, reduce_algorithm, reduce_algorithm, ReduceRule::automatic,
  kAboutAlgorithms)
X(MESHMEM_REDUCE_RING_MIN_BYTES, reduce_ring_min_bytes, optional_size, std::nullopt,
  "Reductions of at least this many bytes on device memory use the ring when the algorithm is auto "
  "or classic. "
  "Unset: auto uses the measured thresholds built into the library. The same on all PEs.")
X(MESHMEM_DETERMINISTIC, deterministic, boolean, false,
  "Every reduction combines the values in PE order, so that results do not depend on the "
  "algorithm. The same on all PEs.")
X(MESHMEM_REDUCE_BLOCKS, reduce_blocks, block_count, std::nullopt,
  "The number of blocks of a kernel that does a reduction which the host calls on device memory. "
  "Only the first four teams that are alive can have more than one. The same on all PEs. Unset: "
  "the numbers in the library's table.")
X(MESHMEM_REDUCE_THREADS, reduce_threads, thread_count, std::nullopt,
  "The number of threads of such a block (MESHMEM_REDUCE_BLOCKS). Only blocks of two_shot_wide "
  "can have more than 512.")
X(MESHMEM_COPY_MIN_BYTES, copy_min_bytes, optional_size, std::nullopt,
  "The size of a PE's block from which an fcollect, alltoall or broadcast that the host calls on "
  "device memory or on a stream is done by copies. On the cpu target the processor copies; "
  "between two PEs with NVIDIA GPUs copy engines do. In all other cases a kernel stores the data. "
  "Unset: 32k, and 96m with GPUs. The same on all PEs.")
X(MESHMEM_TUNING, tuning, file, "",
  "A table of algorithms, blocks and threads for reductions that the host calls on device memory, "
  "as meshmem-bench --tune writes it; it replaces the one built into the library. All PEs must "
  "have the same, for their devices' architecture and with rows for the job's number of PEs.")
X(MESHMEM_CHECK, check, check, Check::off,
  "The members of a team compare what they call: routine, type, counts, root and addresses of "
  "collectives, allocations and splits; on streams in the order in which they are put there. Two "
  "calls that differ end the job with a line that shows both. So do other mistakes: buffers of "
  "collectives that overlap; a put, get, atomic, wait or collective of the host that is not "
  "within one allocated block; and shmem_free of a block that work on a stream still uses. A put, "
  "get or atomic takes about 30 ns more, a barrier of two PEs five times as long. races: instead, "
  "report two accesses to the same symmetric bytes that nothing orders, one of them a write, with "
  "both calls and their lines; the job then ends with status 1 (docs/debugging.md). races-polled: "
  "the same for programs that wait by loads of their own. 1,races: both. The same on all PEs.")
X(MESHMEM_TIMEOUT, timeout, optional_seconds, std::nullopt,
  "A wait that lasts longer ends the job with a line that names what was waited for, and a table "
  "of what every PE waits for. 0: waits last for ever, even if all PEs wait for each other. "
  "Unset: waits may last for ever, but a deadlock that the library finds ends the job "
  "(docs/debugging.md).")
X(MESHMEM_TRACE, trace, file, "",
  "Record every call of the API, and write all PEs' calls to this file at the end, for Perfetto "
  "or meshmem-trace (docs/tracing.md). The same on all PEs. If the program initializes the "
  "library again, the next file is FILE.2, and so on.")
X(MESHMEM_ABORT, abort, abort_by, AbortBy::exit,
  "How a PE ends if it finds an error or waits longer than MESHMEM_TIMEOUT. exit: with status 1. "
  "core: it prints its stack and aborts, which writes a core file where `ulimit -c` allows one; "
  "kernels on the cpu target that fail print their stack too.")
X(MESHMEM_START_TIMEOUT, start_timeout, seconds, 60,
  "A step of start-up that lasts longer, such as waiting for the other PEs, ends the job with a "
  "line. 0 waits for ever.")
X(MESHMEM_NETWORK, network, network_kind, NetworkKind::automatic,
  "How PEs of other machines are reached. tcp: by meshmem's own connections, which only processes "
  "of the job can join. ucx: by UCX. auto: by UCX where there is an RDMA network, else by tcp. "
  "none: not at all; a job over several machines does not start. The same on all PEs.")
X(MESHMEM_NETWORK_DEVICE, network_device, network_device, "",
  "The network to use, as in eth0 or mlx5_0:1. If it is an interface, the ids of "
  "shmemx_get_uniqueid hold its address. Unset: the interface of the default route; UCX chooses by "
  "itself.")
X(MESHMEM_TCP_PORT_RANGE, tcp_port_range, port_range, {},
  "Each PE accepts meshmem's own connections on a free TCP port of this range, for firewalls. The "
  "range needs a port for each PE of a machine, and more if several jobs run there. Unset: the "
  "kernel chooses. UCX has UCX_TCP_PORT_RANGE for its own connections.")
X(MESHMEM_PROXY, proxy, proxy_kind, ProxyKind::automatic,
  "How kernels reach PEs of other machines. auto: by a thread of the PE, which executes their "
  "operations. off: not at all; a kernel that tries ends with an error.")
X(MESHMEM_KEEPALIVE, keepalive, seconds, 10,
  "A PE of another machine that does not answer for about this long counts as lost, which ends "
  "the job. 0: a PE is lost only if its connection breaks.")
X(MESHMEM_SPIN, spin, optional_count, std::nullopt,
  "How many times a waiting PE polls before it lets other processes run. Unset: the library "
  "chooses; when there are more PEs than cores, a PE lets others run at once.")
X(MESHMEM_SPREAD, spread, boolean, true,
  "shmem_init moves PEs that run on one core to cores where no PE of the job is. When there are "
  "more PEs than cores it moves them so that they start evenly spread over the cores. It binds no "
  "PE to a core. 0 leaves all that to the scheduler.")
X(MESHMEM_HEAP, heap, heap_kind, HeapKind::host,
  "Where shmem_malloc, shmem_calloc and shmem_align take memory from: the host heap or the device "
  "heap. The hints of shmem_malloc_with_hints can choose the other heap.")
X(MESHMEM_DEVICE, device, optional_count, std::nullopt,
  "The number of the device that this PE uses, as HIP counts them in this process. Unset: the one "
  "already current if that is not 0, else the PE's number modulo the number of devices.")
X(MESHMEM_DEVICE_HEAP_SIZE, device_heap_size, optional_heap_size, std::nullopt,
  "Bytes of device memory for each PE's device heap; 0 does without devices. Unset: half of the "
  "device's free memory in equal shares for the PEs that use it, at most 1040 MiB. On the cpu "
  "target it is address space: memory is taken only when touched.")
X(MESHMEM_REGISTER_HOST_HEAP, register_host_heap, boolean, false,
  "Make the host heaps of all PEs reachable for kernels even if they are more than 4 GiB "
  "together; the GPU's driver then takes all of that memory at once.")
X(MESHMEM_LARGE_BAR, large_bar, boolean, true,
  "Whether the host's small puts and signals to device heaps are stores of the processor where "
  "the driver allows them. It does on AMD GPUs with a large BAR: PCIe shows the processor all of "
  "their memory. 0: kernels and copies do them everywhere.")
X(MESHMEM_CPU_DEVICES, cpu_devices, device_count, std::nullopt,
  "How many devices a process has on the cpu target. Unset: as many as the launcher has started "
  "PEs on this machine (with srun: on the machine with the most PEs), up to 64; 1 without a "
  "launcher.")

// For tests of meshmem itself.
X_FOR_TESTS(MESHMEM_FUZZ_SEED, fuzz_seed, optional_count, std::nullopt,
            "For tests of the library itself: random short delays where PEs synchronize, which "
            "follow from this number and the PE's. Only in libraries that were configured with "
            "-DMESHMEM_SCHEDULE_FUZZING=ON.")
X_FOR_TESTS(MESHMEM_DEVICE_FIRST_EPOCH, device_first_epoch, number, 0,
            "The number that the synchronization of kernels starts to count from; for tests of "
            "its overflow. The same on all PEs.")
X_FOR_TESTS(MESHMEM_CPU_PEERS, cpu_peers, boolean, true,
            "Whether devices of the cpu target count as reaching each other's memory; 0 is for "
            "tests of the copies between those that do not.")
X_FOR_TESTS(
    MESHMEM_CPU_WIDE_KERNELS, cpu_wide_kernels, boolean, false,
    "Whether the library's own kernels on the cpu target have several blocks and many threads, as "
    "on a GPU, for tests of them. One thread is up to thirty times as fast. The same on all PEs.")
X_FOR_TESTS(MESHMEM_CPU_LARGE_BAR, cpu_large_bar, boolean, false,
            "Whether devices of the cpu target claim a large BAR, for tests of what "
            "MESHMEM_LARGE_BAR says.")

#undef X_FOR_TESTS
