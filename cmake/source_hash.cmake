# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, a source with the version and a hash of all files that LIST names.
# cmake -DVERSION=0.1.0-cpu -DROOT=folder -DLIST=file-of-names -DOUTPUT=name.cpp -P source_hash.cmake
file(STRINGS ${LIST} sources)
set(hashes)
foreach(source IN LISTS sources)
  file(SHA256 ${ROOT}/${source} hash)
  string(APPEND hashes "${source} ${hash}\n")
endforeach()
string(SHA256 hash "${hashes}")
string(SUBSTRING ${hash} 0 12 hash)
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "namespace meshmem {
extern const char kSources[];
const char kSources[] = \"${VERSION}-${hash}\";
}
")
