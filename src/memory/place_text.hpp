// SPDX-License-Identifier: Apache-2.0
//
// A symmetric address as messages name it, by what is the same in all PEs.
// Invariant: may be asked at any time for any address. Called by waits that say what they wait for.
#ifndef MESHMEM_MEMORY_PLACE_TEXT_HPP_
#define MESHMEM_MEMORY_PLACE_TEXT_HPP_

#include <string>

#include "memory/address_map.hpp"

namespace meshmem {

// "0x7f2a40000040 (heap + 0x40)"; the address alone where it is not symmetric.
std::string place_text(const AddressMap& map, const void* address);

}  // namespace meshmem

#endif  // MESHMEM_MEMORY_PLACE_TEXT_HPP_
