// SPDX-License-Identifier: Apache-2.0
//
// Which PMIx is there: the library that meshmem would load, and those that launchers load.
// Invariant: libraries of launchers are read as files, not loaded. Called through Machine.
#ifndef MESHMEM_INFO_DOCTOR_PMIX_LIBRARY_HPP_
#define MESHMEM_INFO_DOCTOR_PMIX_LIBRARY_HPP_

#include <string>

namespace meshmem::doctor {

// "OpenPMIx 4.2.2 (PMIx Standard: ...)", or "".
std::string ask_pmix();

// A launcher that lacks the library, as ldd says it.
inline constexpr const char* kNotFound = "not found";
// "4.2.2", kNotFound, or "" where the launcher does not tell or has none.
std::string ask_pmix_of_launcher(const std::string& program);

// "4.2.2" of a file that has the text above in it, or "".
std::string pmix_version_in_file(const std::string& file);
// "4.2.2" of such a text; "?" of another one.
std::string pmix_number(const std::string& text);

}  // namespace meshmem::doctor

#endif  // MESHMEM_INFO_DOCTOR_PMIX_LIBRARY_HPP_
