// SPDX-License-Identifier: Apache-2.0
//
// The machine as the checks see it: files below a root, variables, and what programs and libraries
// say of themselves. Invariant: a check learns about the machine only through this, so a test shows
// it a machine in a folder. A value that cannot be read is absent, never an error.
#ifndef MESHMEM_INFO_DOCTOR_MACHINE_HPP_
#define MESHMEM_INFO_DOCTOR_MACHINE_HPP_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "info/doctor/gpu_libraries.hpp"
#include "info/networks.hpp"

namespace meshmem::doctor {

class Machine {
 public:
  // The machine of this process is the one with root "/". `target`: cpu, hip or cuda.
  Machine(std::filesystem::path root, std::string target);

  const std::string& target() const { return target_; }
  bool is_this_one() const { return root_ == "/"; }

  // Paths are those of the machine: "/proc/cmdline".
  bool exists(const std::string& path) const;
  std::optional<std::string> read(const std::string& path) const;  // at most 1 MiB
  std::optional<std::string> line(const std::string& path) const;  // the first, without blanks
  std::vector<std::string> list(const std::string& folder) const;  // names, sorted
  std::filesystem::path at(const std::string& path) const;
  // The group of a file: its name, or its number where none is known.
  std::string group_of(const std::string& path) const;

  // The rest of the first line that begins with `begin`, without blanks at its ends.
  std::optional<std::string> field(const std::string& path, const std::string& begin) const;
  // A limit by its name in /proc/self/limits, "Max open files"; nullopt if there is none.
  std::optional<std::uint64_t> limit(const std::string& name, bool hard = false) const;
  // A line of /proc/meminfo, in bytes; 0 if it is not there.
  std::uint64_t memory_info(const std::string& name) const;
  // A program's place by PATH; empty if it is not there.
  std::string find_program(const std::string& name) const;

  // Tests replace these variables of the process and questions to the system by their own.
  std::function<const char*(const char*)> variable;
  std::function<bool(const std::filesystem::path&)> may_use;  // read and write
  std::function<std::string(const std::string& program, const std::string& words)> output_of;
  std::function<std::string()> pmix_version;  // of the library that would be loaded, or ""
  std::function<std::vector<NetworkRow>()> networks;
  std::string ucx_of_build;  // "1.13.1"; empty where the library was built without UCX
  std::function<std::optional<NvmlAnswer>()> nvml;
  std::string cuda_of_build;  // "12.4"; empty where the library was built without CUDA
  std::function<std::string()> hip_version;  // gpu_libraries.hpp
  std::string hip_of_build;                  // "6.3"; empty where it was built without HIP
  std::function<std::optional<std::string>()> lack_of_interface;
  std::function<int()> memory_file_error;  // errno of making a shared memory file; 0: it works

 private:
  std::filesystem::path root_;
  std::string target_;
};

// Without blanks at its ends.
std::string trimmed(std::string text);

// 1000 * major + 10 * minor of a text such as "6.3.0-39", as NVIDIA encodes versions of CUDA.
int version_in(const std::string& text);

// Returns a program's output. `program` is a path without quotes; `words` are options and
// redirections for the shell.
std::string output_of(const std::string& program, const std::string& words);

}  // namespace meshmem::doctor

#endif  // MESHMEM_INFO_DOCTOR_MACHINE_HPP_
