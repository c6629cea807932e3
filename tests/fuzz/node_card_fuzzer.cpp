// SPDX-License-Identifier: Apache-2.0
//
// Start-up data of another node as libFuzzer makes it up. A card that is accepted packs to the same
// bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/node_card.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  const std::string_view text(reinterpret_cast<const char*>(data), bytes);
  meshmem::NodeCard card;
  if (!meshmem::unpack_card(text, 8, card) && meshmem::pack_card(card) != text) std::abort();
  return 0;
}
