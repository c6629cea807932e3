// SPDX-License-Identifier: Apache-2.0
//
// Which runtime of HIP programs for AMD's GPUs would load. Invariant: the library is loaded, not
// linked, and starts no device. Called through Machine, where tests put answers of their own.
#ifndef MESHMEM_INFO_DOCTOR_HIP_RUNTIME_HPP_
#define MESHMEM_INFO_DOCTOR_HIP_RUNTIME_HPP_

#include <string>

namespace meshmem::doctor {

// "libamdhip64.so.6" for "6.3": binaries of one major version need that file.
std::string hip_library_of(const std::string& version);

// Of the library that a build with `version` loads: "6.3"; "" if there is none.
std::string ask_hip(const std::string& version);

// A library whose file has no version in its name.
inline constexpr const char* kHipUntold = "?";
std::string hip_version_in(const std::string& file);  // "6.3" of "libamdhip64.so.6.3.60300"

}  // namespace meshmem::doctor

#endif  // MESHMEM_INFO_DOCTOR_HIP_RUNTIME_HPP_
