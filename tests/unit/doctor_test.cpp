// SPDX-License-Identifier: Apache-2.0
//
// The checks of `meshmem-info --doctor`. A folder with files such as those of /proc and /sys stands
// for a machine: a healthy one, and for each check one with a problem. The files have the form of
// Linux 6. AMD GPUs are as in kfd_topology_test.
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "info/doctor/checks.hpp"

namespace meshmem::doctor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStatus =
    "Name:\tx\nUid:\t9001\t9001\t9001\t9001\nGid:\t9001\t9001\t9001\t9001\nGroups:\t9002 \n"
    "Cpus_allowed_list:\t0-3,8\n";

std::string limits_with(const std::string& name, const std::string& value) {
  std::string text = "Limit                     Soft Limit           Hard Limit           Units\n";
  for (const char* one :
       {"Max file size", "Max locked memory", "Max open files", "Max address space"}) {
    const std::string shown = one == name ? value : "unlimited";
    text += std::string(one) + "     " + shown + "     " + shown + "     bytes\n";
  }
  return text;
}

// A healthy machine with five cores; tests break it.
class Doctor : public testing::Test {
 protected:
  Doctor() {
    std::string name = fs::temp_directory_path() / "doctor_XXXXXX";
    folder_ = mkdtemp(name.data());
    write("/proc/self/status", kStatus);
    write("/proc/self/limits", limits_with("", ""));
    write("/proc/meminfo",
          "MemTotal:       8388608 kB\nMemAvailable:   4194304 kB\nHugePages_Total:       0\n");
    write("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "always [advise] never deny\n");
    write("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    write("/tmp/x", "");
  }
  ~Doctor() override { fs::remove_all(folder_); }

  void write(const std::string& file, const std::string& text) const {
    const fs::path path = folder_ / fs::path(file).relative_path();
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  void add_program(const std::string& file) const {
    write(file, "#!/bin/sh\n");
    ::chmod((folder_ / fs::path(file).relative_path()).c_str(), 0755);
  }

  Machine machine(const std::string& target = "cpu") const {
    Machine seen(folder_, target);
    seen.variable = [this](const char* name) -> const char* {
      const auto found = variables_.find(name);
      return found == variables_.end() ? nullptr : found->second.c_str();
    };
    seen.may_use = [this](const fs::path&) { return may_use_; };
    seen.output_of = [this](const std::string& program, const std::string& words) {
      if (program.ends_with("/ldd")) return "\tlibpmix.so.2 => " + pmix_of_launcher_ + "\n";
      return words.starts_with("--version") ? "Details:\n  tool    1.2\n" : srun_;
    };
    seen.pmix_version = [this] { return pmix_; };
    seen.networks = [this] { return networks_; };
    seen.ucx_of_build = "1.13.1";
    seen.nvml = [this] { return nvml_; };
    seen.cuda_of_build = "12.4";
    seen.hip_version = [this] { return hip_; };
    seen.hip_of_build = "6.3";
    seen.lack_of_interface = [this] { return lack_; };
    seen.memory_file_error = [this] { return file_error_; };
    return seen;
  }
  Check check(const std::string& name, const std::string& target = "cpu") const {
    for (const Check& one : check_all(machine(target)))
      if (one.name == name) return one;
    ADD_FAILURE() << "there is no check " << name;
    return {};
  }
  void expect(const std::string& name, Verdict verdict, const std::string& says,
              const std::string& fix, const std::string& target = "cpu") const {
    const Check one = check(name, target);
    EXPECT_EQ(word_of(one.verdict), word_of(verdict)) << name << ": " << one.says;
    EXPECT_NE(one.says.find(says), std::string::npos) << name << ": " << one.says;
    EXPECT_NE(one.fix.find(fix), std::string::npos) << name << ": " << one.fix;
  }
  void add_gpu(const std::string& node, int heap_type) const {
    const std::string folder = "/sys/class/kfd/kfd/topology/nodes/" + node;
    write(folder + "/properties", "simd_count 440\ngfx_target_version 90010\nlocation_id 768\n");
    write(folder + "/mem_banks/0/properties",
          "heap_type " + std::to_string(heap_type) + "\nsize_in_bytes 68719476736\n");
  }

  std::map<std::string, std::string> variables_{{"PATH", "/usr/bin:/opt/bin"}};
  std::string pmix_ = "OpenPMIx 99.2.2 (PMIx Standard: 4.1)";
  std::string pmix_of_launcher_ = "/usr/lib/libpmix.so.2 (0x7f00)";
  std::vector<NetworkRow> networks_{{"UCX", "99.0.1"},
                                    {"tcp over lo", "127.0.0.1, not used"},
                                    {"tcp over eth0", "192.0.2.2, used where it reaches a peer"}};
  std::string srun_;  // srun's list
  std::optional<NvmlAnswer> nvml_;
  std::string hip_ = "6.3";
  std::optional<std::string> lack_;
  int file_error_ = 0;
  bool may_use_ = true;
  fs::path folder_;
};

TEST_F(Doctor, FindsNothingWrongWithAWellMachine) {
  add_program("/usr/bin/mpirun");
  for (const Check& one : check_all(machine())) {
    EXPECT_EQ(word_of(one.verdict), "OK") << one.name << ": " << one.says;
    EXPECT_EQ(one.fix, "") << one.name;
  }
  expect("launchers", Verdict::ok, "mpirun (tool 1.2)", "");
  expect("networks", Verdict::ok, "UCX 99.0.1: tcp over eth0", "");
  expect("cores", Verdict::ok, "5 (0-3,8)", "");
}

TEST_F(Doctor, HasAMendForAllThatIsNotOk) {
  write("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "always advise [never] deny\n");
  networks_.clear();
  pmix_ = "";
  for (const char* target : {"cpu", "hip", "cuda"})
    for (const Check& one : check_all(machine(target)))
      EXPECT_EQ(one.fix.empty(), one.verdict == Verdict::ok) << one.name;
}

TEST_F(Doctor, LooksAtLimitsOfTheProcess) {
  write("/proc/self/limits", limits_with("Max address space", "536870912"));
  expect("address space", Verdict::bad, "512 MiB", "ulimit -v unlimited");
  write("/proc/self/limits", limits_with("Max file size", "8589934592"));
  expect("file size", Verdict::warn, "8192 MiB, enough for one PE (4720)", "ulimit -f unlimited");
  write("/proc/self/limits", limits_with("Max file size", "2147483648"));
  expect("file size", Verdict::bad, "2048 MiB, and a job of one PE takes 4720", "SYMMETRIC_SIZE");
  expect("file size", Verdict::warn, "enough for one PE (880)", "ulimit -f", "hip");
  variables_["SHMEM_SYMMETRIC_SIZE"] = "16m";
  expect("file size", Verdict::warn, "enough for one PE (640)", "ulimit -f");
  write("/proc/self/limits", limits_with("Max open files", "20"));
  expect("open files", Verdict::bad, "at most 20", "ulimit -Hn");
  write("/proc/self/limits", limits_with("Max open files", "35"));
  expect("open files", Verdict::warn, "at most 35", "ulimit -Hn");
  write("/proc/self/limits", limits_with("Max open files", "256"));
  expect("open files", Verdict::warn, "at most 256", "ulimit -Hn");
}

TEST_F(Doctor, LooksAtLockedMemoryWhereThereIsRdma) {
  write("/proc/self/limits", limits_with("Max locked memory", "8388608"));
  expect("locked memory", Verdict::ok, "8192 KiB; no RDMA device", "");
  write("/sys/class/infiniband/mlx5_0/x", "");
  expect("locked memory", Verdict::warn, "8192 KiB", "ulimit -l unlimited");
}

TEST_F(Doctor, LooksAtVariablesAndTheFolderTheyName) {
  variables_["MESHMEM_CHECK"] = "maybe";
  expect("variables", Verdict::bad, "MESHMEM_CHECK", "--environment");
  variables_["TMPDIR"] = "/nowhere";
  expect("temporary files", Verdict::bad, "'/nowhere' (TMPDIR): ", "export TMPDIR=");
}

TEST_F(Doctor, LooksForPmixAndLaunchers) {
  expect("launchers", Verdict::warn, "only oshrun", "openmpi-bin");
  pmix_ = "OpenPMIx 2.0.1";
  expect("PMIx", Verdict::warn, "2.0.1 is loaded, older than the ", "anew");
  pmix_ = "";
  expect("PMIx", Verdict::bad, "cannot be loaded", "libpmix2");
}

TEST_F(Doctor, LooksAtThePmixOfLaunchers) {
  using std::string_literals::operator""s;
  const std::string name = "PMIx of launchers", library = "/usr/lib/libpmix.so.2";
  const auto text = [](const std::string& version) {
    return "\x7f"
           "ELF\0OpenPMIx \0see OpenPMIx 1.0\0OpenPMIx "s +
           version + " (PMIx Standard: 3.2)\0x"s;
  };
  write(library, text("4.2.2"));
  for (const Check& one : check_all(machine())) EXPECT_NE(one.name, name);
  add_program("/usr/bin/mpirun");
  expect(name, Verdict::ok, "mpirun has 4.2.2", "");
  add_program("/usr/bin/prterun");
  expect(name, Verdict::ok, "prterun has 4.2.2, mpirun has 4.2.2", "");
  write(library, text("2.2.5"));
  expect(name, Verdict::warn, "prterun has PMIx 2.2.5; jobs need 3", "or use oshrun");
  pmix_of_launcher_ = "not found";
  expect(name, Verdict::warn, "prterun does not find", "LD_LIBRARY_PATH");
  for (const char* unknown : {"/usr/bin/mpirun (0x7f00)", "/nowhere", ""}) {
    pmix_of_launcher_ = unknown;
    for (const Check& one : check_all(machine())) EXPECT_NE(one.name, name);
  }
}

TEST_F(Doctor, LooksAtThePmixServerOfAJob) {
  for (const Check& one : check_all(machine())) EXPECT_NE(one.name, "PMIx server");
  variables_["PMIX_RANK"] = "0";
  expect("PMIx server", Verdict::ok, "does not report", "");
  variables_["PMIX_VERSION"] = "4.2.2rc2";
  expect("PMIx server", Verdict::ok, "has PMIx 4.2.2rc2", "");
  variables_["PMIX_VERSION"] = "2.1.4";
  expect("PMIx server", Verdict::warn, "has PMIx 2.1.4; jobs need 3", "or oshrun");
}

TEST_F(Doctor, LooksAtSettingsOfPmix) {
  const std::string name = "PMIx settings";
  for (const char* fine : {"hash", "ds21,hash", "^ds12", "^ds21,ds12"}) {
    variables_["PMIX_MCA_gds"] = fine;
    expect(name, Verdict::ok, "no setting keeps", "");
  }
  for (const char* wrong : {"ds21", "ds12,ds21", "^hash", "^ds12,hash"}) {
    variables_["PMIX_MCA_gds"] = wrong;
    expect(name, Verdict::bad, std::string("PMIX_MCA_gds=") + wrong, "unset PMIX_MCA_gds");
  }
  variables_.erase("PMIX_MCA_gds");
  for (const char* fine : {"native", "none", "munge,native", "^munge"}) {
    variables_["PMIX_MCA_psec"] = fine;
    expect(name, Verdict::ok, "no setting keeps", "");
  }
  variables_["PMIX_MCA_psec"] = "munge";
  expect(name, Verdict::bad, "PMIX_MCA_psec=munge leaves out native", "unset PMIX_MCA_psec");
  variables_["PMIX_SECURITY_MODE"] = "munge";
  expect(name, Verdict::ok, "no setting keeps", "");
  variables_["PMIX_MCA_psec"] = "none";
  expect(name, Verdict::bad, "leaves out munge, by which this job's", "add munge");
}

// As newer and older versions of Slurm list their plugins.
TEST_F(Doctor, AsksSrunForPmix) {
  for (const Check& one : check_all(machine())) EXPECT_NE(one.name, "srun");
  add_program("/opt/bin/srun");
  srun_ =
      "MPI plugin types are...\n\tnone\n\tcray_shasta\n\tpmi2\n\tpmix\n"
      "specific pmix plugin versions available: pmix_v3,pmix_v4\n";
  expect("srun", Verdict::ok, "srun --mpi=pmix", "");
  srun_ = "srun: MPI types are...\nsrun: none\nsrun: openmpi\nsrun: pmi2\n";
  expect("srun", Verdict::ok, "PMI but not PMIx: srun --mpi=pmi2", "");
  srun_ = "MPI plugin types are...\n\tnone\n";
  expect("srun", Verdict::warn, "neither PMIx nor PMI", "mpirun in the allocation");
  srun_ = "";
  expect("srun", Verdict::ok, "does not list", "");
}

TEST_F(Doctor, LooksForNetworks) {
  lack_ = "no network interface is up";
  expect("interfaces", Verdict::bad, "no network interface", "ip link set lo up");
  networks_ = {{"none", "cannot load libmeshmem_ucx.so"}};
  expect("networks", Verdict::warn, "cannot load libmeshmem_ucx.so", "libucx0");
  networks_ = {{"UCX", "0.9.1"}, {"tcp over eth0", "used where it reaches a peer"}};
  expect("networks", Verdict::warn, "UCX 0.9.1 is loaded, older than the ", "or newer");
  networks_ = {{"UCX", "99.0.1"}, {"tcp over eth0", "not used"}};
  expect("networks", Verdict::warn, "no network that meshmem uses", "MESHMEM_NETWORK_DEVICE");
}

TEST_F(Doctor, LooksAtMemoryAndHowItIsShared) {
  write("/proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 1024 kB\n");
  expect("memory", Verdict::warn, "0.0 GiB available", "end other programs");
  write("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "always advise [never] deny\n");
  expect("huge pages", Verdict::warn, "never", "echo advise > /sys/kernel/mm/");
  file_error_ = EPERM;
  expect("shared memory", Verdict::bad, "no memory file can be made", "memfd_create");
}

TEST_F(Doctor, LooksAtLimitsOfTheControlGroup) {
  write("/proc/self/cgroup", "0::/job\n");
  write("/sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  write("/sys/fs/cgroup/job/memory.max", "268435456\n");
  expect("cores", Verdict::warn, "the time of 1.50", "at most 1 PEs");
  expect("memory", Verdict::warn, "the control group grants 0.2 GiB", "memory.max");
}

TEST_F(Doctor, LooksAtClocks) {
  write("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
  expect("clock", Verdict::warn, "hpet", "clocksource=tsc");
}

TEST_F(Doctor, SaysThatALibraryForProcessorsLeavesGpusAlone) {
  write("/dev/kfd", "");
  expect("GPUs", Verdict::warn, "the machine has GPUs", "--target hip");
}

TEST_F(Doctor, LooksAtAmdsDevicesAndWhoMayUseThem) {
  expect("GPU driver", Verdict::bad, "there is no /dev/kfd", "modprobe amdgpu", "hip");
  expect("GPUs", Verdict::bad, "shows no GPU", "dmesg", "hip");
  write("/dev/kfd", "");
  write("/dev/dri/card0", "");
  write("/dev/dri/renderD129", "");
  expect("GPU driver", Verdict::ok, "/dev/kfd can be used", "", "hip");
  may_use_ = false;
  const group* const own = ::getgrgid(::getegid());
  const std::string name = own ? own->gr_name : std::to_string(::getegid());
  expect("GPU driver", Verdict::bad, "/dev/kfd is for group " + name, "usermod -aG " + name, "hip");
  expect("GPU device", Verdict::bad, "/dev/dri/renderD129 is for group", "usermod", "hip");
}

TEST_F(Doctor, LooksAtTheWaysBetweenAmdsGpus) {
  constexpr int kPublic = 1, kPrivate = 2;
  add_gpu("1", kPrivate);
  expect("GPUs", Verdict::ok, "1, the first gfx90a", "", "hip");  // no other GPU has to reach it
  add_gpu("2", kPublic);
  expect("GPUs", Verdict::warn, "memory of node 1", "Resizable BAR", "hip");
  write("/sys/class/kfd/kfd/topology/nodes/1/io_links/0/properties",
        "type 11\nnode_to 2\nweight 15\n");
  expect("GPUs", Verdict::ok, "2, the first gfx90a", "", "hip");
}

TEST_F(Doctor, ComparesHipsRuntimeWithTheBuildAndWithRocm) {
  const std::string name = "HIP runtime";
  expect(name, Verdict::ok, "6.3, built with 6.3", "", "hip");
  write("/opt/rocm/.info/version", "6.3.0-39\n");
  expect(name, Verdict::ok, "6.3, built with 6.3", "", "hip");
  write("/opt/rocm/.info/version", "6.4.1-83\n");
  expect(name, Verdict::warn, "not that of ROCm 6.4.1-83 in /opt/rocm", "hipcc of /opt/rocm",
         "hip");
  variables_["ROCM_PATH"] = "/opt/rocm-6.3.0";
  expect(name, Verdict::ok, "6.3, built with 6.3", "", "hip");
  hip_ = "6.10";
  expect(name, Verdict::ok, "6.10, built with 6.3", "", "hip");
  hip_ = "6.2";
  expect(name, Verdict::warn, "6.2, built with 6.3: it may not load", "LD_LIBRARY_PATH", "hip");
  hip_ = kHipUnknown;
  expect(name, Verdict::ok, "does not report its version", "", "hip");
  hip_ = "";
  expect(name, Verdict::bad, "libamdhip64.so.6 cannot be loaded", "install HIP 6.3", "hip");
  for (const char* target : {"cpu", "cuda"})
    for (const Check& one : check_all(machine(target))) EXPECT_NE(one.name, name);
}

TEST_F(Doctor, AsksWhetherAmdsMemoryCanBeShared) {
  const std::string name = "GPU sharing";
  write("/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
  expect(name, Verdict::bad, "cannot share device memory: Linux 6.1.0-18", "amdgpu-dkms", "hip");
  write("/proc/sys/kernel/osrelease", "6.12.3\n");
  expect(name, Verdict::warn, "some versions of ROCm", "HSA_ENABLE_IPC_MODE_LEGACY=0", "hip");
  variables_["HSA_ENABLE_IPC_MODE_LEGACY"] = "1";
  expect(name, Verdict::bad, "LEGACY=1 needs AMD's driver", "LEGACY=0", "hip");
  variables_["HSA_ENABLE_IPC_MODE_LEGACY"] = "0";
  expect(name, Verdict::ok, "Linux 6.12.3 and HIP 6.3", "", "hip");
  hip_ = "6.2";
  expect(name, Verdict::bad, "HIP 6.2 needs AMD's driver", "or ROCm 6.3", "hip");
  write("/sys/module/amdgpu/version", "6.10.5\n");
  expect(name, Verdict::ok, "AMD's driver 6.10.5", "", "hip");
}

TEST(DoctorHip, ReadsTheVersionInTheNameOfALibrary) {
  EXPECT_EQ(hip_version_in("libamdhip64.so.5.2.21153"), "5.2");
  EXPECT_EQ(hip_version_in("libamdhip64.so.7.10.71000"), "7.10");
  for (const char* unknown : {"libamdhip64.so.6", "libamdhip64.so", ""})
    EXPECT_EQ(hip_version_in(unknown), kHipUnknown) << unknown;
}

TEST_F(Doctor, LooksAtNvidiasDriverAndMps) {
  expect("GPU driver", Verdict::bad, "there is no /dev/nvidiactl", "--gpus all", "cuda");
  expect("MPS", Verdict::ok, "does not run", "", "cuda");
  variables_["CUDA_MPS_PIPE_DIRECTORY"] = "/run/mps";
  expect("MPS", Verdict::warn, "/run/mps, where no daemon", "nvidia-cuda-mps-control -d", "cuda");
  write("/run/mps/control", "");
  expect("MPS", Verdict::ok, "runs, with its pipes in /run/mps", "", "cuda");
}

// As an H100 with driver 550.54.15 answers.
TEST_F(Doctor, ComparesNvidiasDriverWithTheBuild) {
  nvml_ = NvmlAnswer{"550.54.15", 12040, {0}};
  expect("CUDA driver", Verdict::ok, "550.54.15 runs CUDA 12.4, built with 12.4", "", "cuda");
  nvml_->cuda_version = 13000;
  expect("CUDA driver", Verdict::ok, "runs CUDA 13.0", "", "cuda");
  nvml_->cuda_version = 12020;
  expect("CUDA driver", Verdict::warn, "runs CUDA 12.2, built with 12.4; only",
         "CUDA 12.4 or newer", "cuda");
  nvml_->cuda_version = 11080;
  expect("CUDA driver", Verdict::bad, "runs CUDA 11.8", "build meshmem with CUDA 11.8", "cuda");
}

TEST_F(Doctor, LooksAtTheWaysBetweenNvidiasGpus) {
  nvml_ = NvmlAnswer{"550.54.15", 12040, {18, 18, 18, 18}};
  const std::string name = "ways between GPUs";
  expect(name, Verdict::ok, "4 GPUs reach each other, with 18 active NVLinks", "", "cuda");
  nvml_->active_links[2] = 17;
  expect(name, Verdict::warn, "GPU 2 has 17 active NVLinks, and others have 18", "nvlink", "cuda");
  nvml_->gaps = {{0, 3, "the chipset does not support it"}, {3, 0, "it is not supported"}};
  expect(name, Verdict::warn, "GPU 0 do not reach the memory of GPU 3: the chipset", "-p2p",
         "cuda");
  nvml_ = NvmlAnswer{"550.54.15", 12040, {0}};
  for (const Check& one : check_all(machine("cuda"))) EXPECT_NE(one.name, name);
}

TEST_F(Doctor, LooksAtTheBarsOfNvidiasGpusWithoutNvlink) {
  constexpr std::uint64_t kGib = std::uint64_t{1} << 30;
  nvml_ = NvmlAnswer{"550.54.15", 12040, {0, 0}, {{32 * kGib, 24 * kGib}, {32 * kGib, 24 * kGib}}};
  expect("GPU BAR", Verdict::ok, "large", "", "cuda");
  nvml_->bar_sizes[1].bar = kGib / 4;
  expect("GPU BAR", Verdict::warn, "GPU 1 shows 256 of its 24576 MiB", "Resizable BAR", "cuda");
  nvml_->active_links[1] = 4;
  expect("GPU BAR", Verdict::ok, "not needed", "", "cuda");
  nvml_->active_links[1] = 0;
  nvml_->bar_sizes[1] = {0, 0};  // the driver does not say it
  expect("GPU BAR", Verdict::ok, "not needed", "", "cuda");
}

TEST_F(Doctor, SurvivesAnEmptyMachine) {
  fs::remove_all(folder_);
  for (const char* target : {"cpu", "hip", "cuda"})
    EXPECT_FALSE(check_all(machine(target)).empty());
}

TEST(DoctorText, CountsVerdictsAndShowsMends) {
  const Checks checks{ok("a", "good"), warn("b", "slow", "faster"), bad("c", "off", "on")};
  EXPECT_EQ(table_of(checks),
            "OK    a                     good\n"
            "WARN  b                     slow\n"
            "                            fix: faster\n"
            "BAD   c                     off\n"
            "                            fix: on\n"
            "3 checks: 1 OK, 1 WARN, 1 BAD\n");
  EXPECT_TRUE(has_bad(checks));
  EXPECT_FALSE(has_bad({ok("a", "good"), warn("b", "slow", "faster")}));
}

TEST(DoctorText, IsJsonWhateverAFileSays) {
  EXPECT_EQ(json_of({bad("a", "\"\\\n\x01\xff", "x")}),
            "{\"checks\": [\n  {\"name\": \"a\", \"verdict\": \"BAD\", \"says\": "
            "\"\\\"\\\\\\u000a\\u0001?\", \"fix\": \"x\"}\n], \"bad\": 1}\n");
}

}  // namespace
}  // namespace meshmem::doctor
