// SPDX-License-Identifier: Apache-2.0
//
// The devices that a program started here would see, which PEs would use them, and who reaches
// whom.
// Invariant: only asks; takes no memory of a device. Called by meshmem-info.
#ifndef MESHMEM_INFO_DEVICES_HPP_
#define MESHMEM_INFO_DEVICES_HPP_

#include <functional>
#include <string_view>

namespace meshmem {

using PrintRow = std::function<void(std::string_view name, std::string_view value)>;
void print_devices(const PrintRow& print_row);

}  // namespace meshmem

#endif  // MESHMEM_INFO_DEVICES_HPP_
