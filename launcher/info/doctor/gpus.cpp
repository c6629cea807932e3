// SPDX-License-Identifier: Apache-2.0
//
// Checks GPUs of the kind that the library was built for: their device files, who may use them, how
// they reach each other, and NVIDIA's MPS.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "info/doctor/checks.hpp"
#include "info/kfd_topology.hpp"

namespace meshmem::doctor {
namespace {

Check check_use(const Machine& machine, const std::string& name, const std::string& file,
                const std::string& fix_of_absence) {
  if (!machine.exists(file)) return bad(name, fmt::format("there is no {}", file), fix_of_absence);
  if (machine.may_use(machine.at(file))) return ok(name, file + " can be used");
  const std::string group = machine.group_of(file);
  return bad(name, fmt::format("{} is for group {}, which this user is not in", file, group),
             fmt::format("usermod -aG {} $USER (as root), then log in again", group));
}

std::string first_render_node(const Machine& machine) {
  for (const std::string& name : machine.list("/dev/dri"))
    if (name.starts_with("renderD")) return "/dev/dri/" + name;
  return "/dev/dri/renderD128";
}

// Kernels store to another GPU by xGMI, or by PCIe where all of its memory is in its BAR.
Check check_reach(const std::vector<KfdGpu>& gpus) {
  constexpr std::uint64_t kXgmi = 11;
  const auto has_xgmi = [](const KfdGpu& gpu) {
    return std::any_of(gpu.links.begin(), gpu.links.end(),
                       [](const KfdLink& link) { return link.type == kXgmi; });
  };
  for (const KfdGpu& gpu : gpus) {
    if (gpus.size() > 1 && !gpu.has_large_bar && !has_xgmi(gpu))
      return warn(
          "GPUs",
          fmt::format("kernels do not reach the memory of node {} ({})", gpu.node, describe(gpu)),
          "turn on 'Above 4G decoding' and 'Resizable BAR' in the machine's firmware");
  }
  if (gpus.empty())
    return bad("GPUs", "the kernel driver shows no GPU", "modprobe amdgpu (as root); see dmesg");
  return ok("GPUs", fmt::format("{}, the first {}", gpus.size(), describe(gpus.front())));
}

Check check_mps(const Machine& machine) {
  const char* set = machine.variable("CUDA_MPS_PIPE_DIRECTORY");
  const std::string folder = set ? set : "/tmp/nvidia-mps";
  if (machine.exists(folder + "/control")) return ok("MPS", "runs, with its pipes in " + folder);
  if (set)
    return warn("MPS",
                fmt::format("CUDA_MPS_PIPE_DIRECTORY is {}, where no daemon has its pipes", folder),
                "nvidia-cuda-mps-control -d, or unset CUDA_MPS_PIPE_DIRECTORY");
  return ok("MPS",
            "does not run, which is right for one PE a GPU; kernels of PEs that share a GPU "
            "take turns without it (nvidia-cuda-mps-control -d)");
}

// The runtime loads kernels of the build's compiler; an older runtime may fail to load some.
// A release of ROCm and its HIP have the same first two numbers.
Check check_hip_version(const Machine& machine) {
  const std::string name = "HIP runtime", built = machine.hip_of_build,
                    loaded = machine.hip_version();
  if (loaded.empty())
    return bad(name, fmt::format("{} cannot be loaded", hip_library_of(built)),
               fmt::format("install HIP {}, or add its folder to LD_LIBRARY_PATH, or build meshmem "
                           "anew on this machine",
                           built));
  if (loaded == kHipUnknown) return ok(name, "does not report its version, built with " + built);
  const std::string says = fmt::format("{}, built with {}", loaded, built);
  const char* set = machine.variable("ROCM_PATH");
  const std::string rocm = set ? set : "/opt/rocm";
  const std::string installed = machine.line(rocm + "/.info/version").value_or("");
  if (version_in(loaded) < version_in(built))
    return warn(
        name, says + ": it may not load kernels of a newer compiler",
        "put the newer HIP first in LD_LIBRARY_PATH, or build meshmem anew on this machine");
  if (!installed.empty() && version_in(installed) != version_in(loaded))
    return warn(name, fmt::format("{}; it is not that of ROCm {} in {}", says, installed, rocm),
                fmt::format("build meshmem anew by the hipcc of {}, or set ROCM_PATH to the ROCm "
                            "of the build",
                            rocm));
  return ok(name, says);
}

// Looks for what PEs of a machine need to map each other's device memory (docs/hip_calls.md). That
// is calls of AMD's own driver, which shows a version, or dmabuf files, which ROCm 6.3 and Linux
// 6.2 have.
Check check_sharing(const Machine& machine) {
  const std::string name = "GPU sharing";
  if (const auto driver = machine.line("/sys/module/amdgpu/version"))
    return ok(name, fmt::format("AMD's driver {} lets PEs share device memory", *driver));
  constexpr int kFirstLinux = 6020, kFirstRocm = 6030;
  const std::string linux_version = machine.line("/proc/sys/kernel/osrelease").value_or("?");
  const std::string fix = "install AMD's driver (amdgpu-dkms)";
  const std::string says = "PEs of a machine cannot share device memory: ";
  if (version_in(linux_version) < kFirstLinux)
    return bad(name, fmt::format("{}Linux {} has no calls for it", says, linux_version), fix);
  const std::string hip = machine.hip_version();
  if (version_in(hip) < kFirstRocm)
    return bad(name, fmt::format("{}HIP {} needs AMD's driver for it", says, hip),
               fix + ", or ROCm 6.3 or newer");
  const char* legacy = machine.variable("HSA_ENABLE_IPC_MODE_LEGACY");
  if (legacy && std::string(legacy) == "0")
    return ok(name,
              fmt::format("Linux {} and HIP {} let PEs share device memory", linux_version, hip));
  const std::string use = "export HSA_ENABLE_IPC_MODE_LEGACY=0";
  if (legacy)
    return bad(
        name, fmt::format("{}HSA_ENABLE_IPC_MODE_LEGACY={} needs AMD's driver", says, legacy), use);
  return warn(name,
              fmt::format("by default some versions of ROCm need AMD's driver to share "
                          "device memory between PEs, and this is Linux's own"),
              use);
}

Checks check_amd(const Machine& machine) {
  return {check_use(machine, "GPU driver", "/dev/kfd",
                    "modprobe amdgpu (as root); in a container: --device=/dev/kfd"),
          check_use(machine, "GPU device", first_render_node(machine),
                    "modprobe amdgpu (as root); in a container: --device=/dev/dri"),
          check_hip_version(machine), check_sharing(machine),
          check_reach(read_kfd_topology(machine.at(kKfdNodes)))};
}

std::string cuda_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

// A driver runs programs of any CUDA of its major version. If their minor version is newer, only
// kernels that are already compiled for the GPU run.
Check check_cuda_version(const NvmlAnswer& answer, int built) {
  constexpr int kMajor = 1000;
  const std::string says = fmt::format("{} runs CUDA {}, built with {}", answer.driver,
                                       cuda_text(answer.cuda_version), cuda_text(built));
  const std::string fix =
      fmt::format("install a driver for CUDA {} or newer, or build meshmem with CUDA {}",
                  cuda_text(built), cuda_text(answer.cuda_version));
  if (answer.cuda_version / kMajor < built / kMajor) return bad("CUDA driver", says, fix);
  if (answer.cuda_version < built)
    return warn("CUDA driver", says + "; only kernels compiled for this very GPU run", fix);
  return ok("CUDA driver", says);
}

Check check_ways_of_nvidia(const NvmlAnswer& answer) {
  const auto& links = answer.active_links;
  if (!answer.gaps.empty()) {
    const NvmlAnswer::Gap& gap = answer.gaps.front();
    return warn("ways between GPUs",
                fmt::format("kernels on GPU {} do not reach the memory of GPU {}: {} ({} such "
                            "way{})",
                            gap.from, gap.to, gap.cause, answer.gaps.size(),
                            answer.gaps.size() == 1 ? "" : "s"),
                "choose by CUDA_VISIBLE_DEVICES GPUs that nvidia-smi topo -p2p w shows as OK");
  }
  const auto [least, most] = std::minmax_element(links.begin(), links.end());
  if (*least < *most)
    return warn("ways between GPUs",
                fmt::format("GPU {} has {} active NVLinks, and others have {}",
                            least - links.begin(), *least, *most),
                "nvidia-smi nvlink -s, and look for Xid in dmesg; nvidia-smi -r resets a GPU");
  return ok("ways between GPUs",
            fmt::format("{} GPUs reach each other, with {} active NVLink{} each", links.size(),
                        *most, *most == 1 ? "" : "s"));
}

// Without NVLink, peers map a GPU's memory through its BAR.
Check check_bar(const NvmlAnswer& answer) {
  for (std::size_t gpu = 0; gpu < answer.bar_sizes.size(); ++gpu) {
    const NvmlAnswer::BarSize& size = answer.bar_sizes[gpu];
    if (size.bar >= size.memory || answer.active_links[gpu] > 0) continue;
    return warn("GPU BAR",
                fmt::format("GPU {} shows {} of its {} MiB to others over PCIe, and has no NVLink",
                            gpu, size.bar >> 20, size.memory >> 20),
                "turn on 'Above 4G decoding' and 'Resizable BAR' in the machine's firmware");
  }
  return ok("GPU BAR", "large, or not needed");
}

Checks check_nvidia(const Machine& machine) {
  const std::string install = "install NVIDIA's driver; in a container: --gpus all";
  Checks checks{check_use(machine, "GPU driver", "/dev/nvidiactl", install),
                check_use(machine, "GPU memory", "/dev/nvidia-uvm", "nvidia-modprobe -u -c 0"),
                check_mps(machine)};
  if (const auto answer = machine.nvml()) {
    if (answer->cuda_version != 0)
      checks.push_back(check_cuda_version(*answer, version_in(machine.cuda_of_build)));
    if (answer->active_links.size() > 1) {
      checks.push_back(check_ways_of_nvidia(*answer));
      checks.push_back(check_bar(*answer));
    }
  }
  return checks;
}

}  // namespace

Checks check_gpus(const Machine& machine) {
  if (machine.target() == "hip") return check_amd(machine);
  if (machine.target() == "cuda") return check_nvidia(machine);
  const char* target = machine.exists("/dev/kfd")         ? "hip"
                       : machine.exists("/dev/nvidiactl") ? "cuda"
                                                          : nullptr;
  if (target == nullptr) return {ok("GPUs", "none; kernels run on processors")};
  return {warn("GPUs", "this library runs kernels on processors, and the machine has GPUs",
               fmt::format("./mesh install --target {}", target))};
}

}  // namespace meshmem::doctor
