// SPDX-License-Identifier: Apache-2.0
//
// The store of free parcels. Invariant: the one given back last is taken first, as it is in the
// cache.
#include "transport/network/parcel.hpp"

namespace meshmem::network {

Parcel& ParcelStore::take(Free& free, bool has_room) {
  if (free.empty()) {
    Parcel& made = *all_.emplace_back(std::make_unique<Parcel>());
    if (has_room) made.room = std::make_unique_for_overwrite<std::byte[]>(kRoomBytes);
    free.reserve(all_.size());  // so that giving back takes no memory
    free.push_back(&made);
  }
  Parcel& parcel = *free.back();
  free.pop_back();
  parcel.head = {};
  parcel.used = parcel.skipped = 0;
  parcel.lent = nullptr;
  parcel.under_way = nullptr;
  return parcel;
}

}  // namespace meshmem::network
