// SPDX-License-Identifier: Apache-2.0
// See memory_kinds.hpp. How L2 treats memory depends on its MTYPE, a field of the page table.
// LLVM's page AMDGPU usage says which memory has which, in "Memory Model GFX90A" and "Memory Model
// GFX942". Where that page leaves it open, Linux's amdgpu driver decides: for gfx90a
// get_pte_flags() of amdgpu_amdkfd_gpuvm.c, for gfx942 gmc_v9_0_get_coherence_flags().
#include "memory_kinds.hpp"

#include <cstdlib>
#include <memory>
#include <vector>

#include "allocations.hpp"
#include "devices.hpp"
#include "module.hpp"

namespace amd_gpu {
namespace {

using hip_on_cpu::Allocation;
using hip_on_cpu::MemoryKind;

constexpr unsigned kHostUncached = 0x10000000, kRegisterCoarseGrained = 0x8;  // HIP's flags
constexpr std::uint64_t kPage = hip_on_cpu::kPage;

bool is_coarse_grained(const Allocation& found) {
  switch (found.kind) {
    case MemoryKind::kHost:
      return (found.flags & hipHostMallocNonCoherent) != 0;
    case MemoryKind::kRegistered:
      return (found.flags & kRegisterCoarseGrained) != 0;
    case MemoryKind::kManaged:
      return false;
    default:
      return found.flags == hipDeviceMallocDefault;
  }
}
bool is_uncached(const Allocation& found) {
  if (found.kind == MemoryKind::kHost) return (found.flags & kHostUncached) != 0;
  return found.is_device() && found.flags == hipDeviceMallocUncached;
}

// The MTYPEs are RW, NC, CC and UC; kCoherent stands for the last two. Uncached memory is UC. On
// gfx90a fine-grained memory is CC on its own GPU and UC on others, and the host's is UC. On gfx942
// fine-grained memory is like coarse-grained: RW on its own GPU and NC on others. The host's is NC
// here; on an MI300A, where it is the GPU's own, it would be RW.
Caching caching_of(const Allocation& found, int device) {
  const bool has_coherent_kind = !architecture().has_scopes && !is_coarse_grained(found);
  if (is_uncached(found) || has_coherent_kind) return Caching::kCoherent;
  const bool is_own = found.kind == MemoryKind::kDevice && found.device == device;
  return is_own ? Caching::kOwn : Caching::kOthers;
}

}  // namespace

// Memory outside of all allocations belongs to code objects: variables, which are coarse-grained
// memory of the GPU.
MemoryRange memory_range_at(int device, std::uint64_t address) {
  const auto found = hip_on_cpu::Allocations::get().find(reinterpret_cast<const void*>(address));
  if (!found) return {address / kPage * kPage, (address / kPage + 1) * kPage, Caching::kOwn};
  return {found->base, found->base + found->size, caching_of(*found, device)};
}

// A gfx90a has one L2. A gfx942 may be one device with several L2s; then each block has its own
// here. Or each part of a gfx942 is a device with one L2. An odd MESHMEM_AMD_SEED chooses this.
L2* l2_of_gpu(int device) {
  static const bool has_several = [] {
    const char* const seed = std::getenv("MESHMEM_AMD_SEED");
    return architecture().has_scopes && (seed == nullptr || std::atoi(seed) % 2 == 0);
  }();
  if (has_several) return nullptr;
  static auto* const all = [] {
    auto* const made = new std::vector<std::unique_ptr<L2>>;
    for (int n = 0; n < hip_on_cpu::device_count(); ++n)
      made->push_back(std::make_unique<L2>(Scope::kGpu));
    return made;
  }();
  return all->at(static_cast<std::size_t>(device)).get();
}

}  // namespace amd_gpu
