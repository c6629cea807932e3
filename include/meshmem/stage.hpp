// SPDX-License-Identifier: Apache-2.0
//
// The host's side of mailbox.hpp: owns the memory that kernels of a team's PEs store to.
// Invariant: outside kernels, all words of a stage are blank, but those that a peer's next kernel
// has stored.
#ifndef MESHMEM_MESHMEM_STAGE_HPP
#define MESHMEM_MESHMEM_STAGE_HPP

#include <meshmem/allreduce.hpp>
#include <meshmem/mailbox.hpp>

namespace meshmem {

// An argument of a collective; bytes at the address.
struct Array {
  const char* name;
  const void* at;
  std::size_t bytes;
};

// An error if an array is null or not aligned, or if one of the first `written`, which the call
// writes, overlaps another. But array i of these may be array written + i.
template <int count>
Status check_arrays(const char* call, const Array (&arrays)[count], int written,
                    std::size_t alignment) {
  for (int i = 0; i < count; ++i) {
    const auto a = reinterpret_cast<std::uintptr_t>(arrays[i].at);
    if (a == 0) return Status::error("%s: %s is null", call, arrays[i].name);
    if (a % alignment != 0)
      return Status::error("%s: %s is at %p, not aligned to %zu bytes", call, arrays[i].name,
                           arrays[i].at, alignment);
    for (int k = 0; k < i && k < written; ++k) {
      const auto b = reinterpret_cast<std::uintptr_t>(arrays[k].at);
      if (arrays[i].bytes == 0 || (i == k + written && a == b)) continue;
      if (a - b < arrays[k].bytes || b - a < arrays[i].bytes)
        return Status::error("%s: %s and %s overlap", call, arrays[k].name, arrays[i].name);
    }
  }
  return Status();
}

// The same if the call writes `one` or `whole`. `one` may be the share of `whole` that begins after
// `before` bytes, and otherwise does not overlap it.
inline Status check_share(const char* call, const Array& one, const Array& whole,
                          std::size_t before, std::size_t alignment) {
  const auto* const begin = static_cast<const char*>(whole.at);
  const std::size_t after = before + one.bytes < whole.bytes ? before + one.bytes : whole.bytes;
  const Array arrays[] = {one,
                          {whole.name, begin + before, after - before},
                          {whole.name, begin, before},
                          {whole.name, begin + after, whole.bytes - after}};
  return check_arrays(call, arrays, 1, alignment);
}

// One failure is a failure of all: `status` becomes an error if it is one on any PE of the team. A
// collective of the world; a PE outside the team passes SHMEM_TEAM_INVALID.
inline void agree(const char* call, shmem_team_t team, Status& status) {
  auto* const ok = static_cast<int*>(
      shmem_malloc_with_hints(2 * sizeof(int), SHMEMX_MALLOC_HOST));  // of this PE, of all
  if (!ok) {
    status = Status::error("%s: no symmetric memory", call);
    return;
  }
  ok[0] = status.ok();
  if (team != SHMEM_TEAM_INVALID) {
    shmem_int_min_reduce(team, &ok[1], &ok[0], 1);
    if (status.ok() && !ok[1]) status = Status::error("%s: another PE of the team failed", call);
  }
  shmem_free(ok);
}

// The stage of a team whose PEs' devices reach each other. All PEs of the world construct and
// destroy it together, before shmem_finalize; a PE outside the team passes SHMEM_TEAM_INVALID. The
// destructor waits for marked work, but not for graphs: their last replay must have ended before.
class Stage {
 public:
#if defined(MESHMEM_TARGET_IS_CPU)
  static constexpr unsigned kBlocks = 3, kThreads = 64;
#else
  static constexpr unsigned kBlocks = 128, kThreads = 512;
#endif

  // bytes: of a half, the same on all PEs. Symmetric device memory of twice that is allocated.
  Stage(shmem_team_t team, std::size_t bytes) {
    view_.bytes = bytes < SIZE_MAX / 4 ? (bytes + kGrain - 1) / kGrain * kGrain : SIZE_MAX / 4;
    const std::size_t halves = 2 * view_.bytes, tables = StageView::kHead + halves;
    memory_ = static_cast<char*>(SymmetricMemory::allocate(tables + sizeof(Tables)));
    if (!memory_) {
      status_ = Status::error("Stage: no 2 * %zu bytes of symmetric device memory", bytes);
      return;
    }
    auto* const there = reinterpret_cast<Tables*>(memory_ + tables);
    view_.mine = memory_;
    view_.epochs = there->epochs;
    view_.memory = there->memory;
    Tables mine = {};
    status_ = find_pes(team, mine.memory);
    hipError_t failed = hipMemset(memory_, 0, StageView::kHead);
    if (failed == hipSuccess) failed = hipMemset(memory_ + StageView::kHead, 0xff, halves);
    if (failed == hipSuccess) failed = hipMemcpy(there, &mine, sizeof mine, hipMemcpyHostToDevice);
    if (failed == hipSuccess) failed = hipDeviceSynchronize();
    if (failed != hipSuccess) status_ = Status::error("Stage: %s", hipGetErrorString(failed));
    agree("Stage", team, status_);
    shmem_barrier_all();  // no PE stores before all words are blank
  }
  ~Stage() {
    shmemx_stream_mark_wait(&mark_);
    SymmetricMemory::free(memory_);
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  const Status& status() const { return status_; }
  const StageView& view() const { return view_; }

  // Starts kernel(view(), arguments...) on a stream. On NVIDIA GPUs from compute capability 9.0 on,
  // the kernel comes to the GPU early, and its Mailbox waits for the end of the kernel before it.
  template <typename... Parameters>
  Status launch(void (*kernel)(StageView, Parameters...), std::size_t threads,
                shmemx_stream_t stream, std::decay_t<Parameters>... arguments) {
    if (!status_) return status_;
    const dim3 grid(kBlocks), block(static_cast<unsigned>(threads));
    const auto on = static_cast<hipStream_t>(stream);
    void* addresses[] = {&view_, &arguments...};
#if defined(MESHMEM_TARGET_IS_CPU)
    const hipError_t failed = hipLaunchKernel(kernel, grid, block, addresses, 0, on);
#else
    const auto* const known = reinterpret_cast<const void*>(kernel);
#if defined(MESHMEM_TARGET_IS_CUDA) && CUDART_VERSION >= 12030
    cudaFuncAttributes attributes{};
    if (known != known_ && cudaFuncGetAttributes(&attributes, known) == cudaSuccess) {
      known_ = known;
      waits_itself_ = attributes.ptxVersion >= 90 && driver_version() >= 12030;
    }
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.stream = on;
    config.attrs = &early;
    config.numAttrs = waits_itself_ ? 1 : 0;
    const hipError_t failed = hip_on_cuda::to_hip(cudaLaunchKernelExC(&config, known, addresses));
#else
    const hipError_t failed = hipLaunchKernel(known, grid, block, addresses, 0, on);
#endif
#endif
    if (failed != hipSuccess) return Status::error("launch: %s", hipGetErrorString(failed));
    shmemx_stream_mark(&mark_, stream);
    return Status();
  }

 private:
  static constexpr std::size_t kGrain = 256;
  struct Tables {
    std::uint64_t epochs[kBlocks];
    char* memory[StageView::kMostPes];
  };

  Status find_pes(shmem_team_t team, char** memory) {
    if (team == SHMEM_TEAM_INVALID) return Status::error("Stage: this PE is not in the team");
    view_.me = shmem_team_my_pe(team);
    view_.n = shmem_team_n_pes(team);
    if (view_.n > StageView::kMostPes) return Status::error("Stage: %d PEs are too many", view_.n);
    for (int pe = 0; pe < view_.n; ++pe) {
      memory[pe] = static_cast<char*>(shmem_team_ptr(team, memory_, pe));
      if (!memory[pe]) return Status::error("Stage: kernels do not reach PE %d of the team", pe);
    }
    return Status();
  }

#if defined(MESHMEM_TARGET_IS_CUDA)
  // Older drivers than 12.3 cannot capture a launch that starts early.
  static int driver_version() {
    static const int version = [] {
      int found = 0;
      return hipDriverGetVersion(&found) == hipSuccess ? found : 0;
    }();
    return version;
  }
#endif

  StageView view_ = {};
  [[maybe_unused]] const void* known_ = nullptr;  // the newest kernel
  [[maybe_unused]] bool waits_itself_ = false;
  char* memory_ = nullptr;
  shmemx_mark_t mark_ = nullptr;  // behind the newest kernel
  Status status_;
};

}  // namespace meshmem

#endif
