// SPDX-License-Identifier: Apache-2.0
//
// A parcel on its way out, and the store of parcels that are free.
// Invariant: a parcel stays as it is from Wire::send() until the wire says that it has left.
// Parcels are used again and never freed, so that sending takes no memory from the system. All
// under the lock of the transport.
#ifndef MESHMEM_TRANSPORT_NETWORK_PARCEL_HPP_
#define MESHMEM_TRANSPORT_NETWORK_PARCEL_HPP_

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "transport/network/format.hpp"

namespace meshmem::network {

class Flow;

struct Parcel {
  Head head;
  Flow* flow = nullptr;
  // Of a parcel of records: where they are. Else the data of the lone record, which somebody lends.
  std::unique_ptr<std::byte[]> room;
  std::size_t used = 0;
  std::size_t skipped = 0;  // of the room: a record that travels in the head
  const void* lent = nullptr;
  std::atomic<std::size_t>* under_way = nullptr;  // counted down when it has left

  const void* body() const { return room ? room.get() + skipped : lent; }
  // The one record in the room has been copied to the head: fewer bytes, and where it has no data,
  // one buffer less for the kernel to gather.
  void leave_record_out() {
    skipped = record_bytes(head.lone.kind);
    used = data_bytes(head.lone);
  }
};

class ParcelStore {
 public:
  Parcel& take_with_room() { return take(with_room_, true); }
  Parcel& take_without_room() { return take(without_room_, false); }
  void give_back(Parcel& parcel) { (parcel.room ? with_room_ : without_room_).push_back(&parcel); }

 private:
  using Free = std::vector<Parcel*>;
  // Takes the parcel that was given back last, since it is in the cache.
  Parcel& take(Free& free, bool has_room) {
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

  std::vector<std::unique_ptr<Parcel>> all_;
  Free with_room_, without_room_;
};

}  // namespace meshmem::network

#endif  // MESHMEM_TRANSPORT_NETWORK_PARCEL_HPP_
