// SPDX-License-Identifier: Apache-2.0
// A list of PMIx (key, value) pairs that can be built one at a time, and nested.
// Invariant: the list owns what its values point to, as PMIX_INFO_LOAD copies.
// Used by server.cpp.
#ifndef MESHMEM_OSHRUN_PMIX_INFO_LIST_HPP_
#define MESHMEM_OSHRUN_PMIX_INFO_LIST_HPP_

#include <pmix_server.h>

#include <cstdint>
#include <string>
#include <vector>

namespace meshmem {

class PmixInfoList {
 public:
  PmixInfoList() = default;
  PmixInfoList(const PmixInfoList&) = delete;
  ~PmixInfoList() {
    for (pmix_info_t& info : list_) PMIX_INFO_DESTRUCT(&info);
  }

  void add(const char* key, const std::string& value) { load(key, value.c_str(), PMIX_STRING); }
  void add(const char* key, std::uint32_t value) { load(key, &value, PMIX_UINT32); }
  void add_small(const char* key, std::uint16_t value) { load(key, &value, PMIX_UINT16); }
  void add_rank(const char* key, pmix_rank_t value) { load(key, &value, PMIX_PROC_RANK); }
  void add_encoded(const char* key, const char* value) { load(key, value, PMIX_REGEX); }
  void add(const char* key, PmixInfoList& nested) {
    pmix_data_array_t array{PMIX_INFO, nested.size(), nested.data()};
    load(key, &array, PMIX_DATA_ARRAY);
  }

  pmix_info_t* data() { return list_.data(); }
  std::size_t size() const { return list_.size(); }

 private:
  void load(const char* key, const void* value, pmix_data_type_t type) {
    pmix_info_t info;
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, key, value, type);
    list_.push_back(info);
  }

  std::vector<pmix_info_t> list_;
};

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_PMIX_INFO_LIST_HPP_
