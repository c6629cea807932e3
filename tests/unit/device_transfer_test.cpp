// SPDX-License-Identifier: Apache-2.0
//
// What fence and quiet cost where the device has been given nothing: no call of the device.
#include "gpu/device_transfer.hpp"

#include <gtest/gtest.h>

namespace meshmem {
namespace {

// One that has not been opened could call none.
TEST(DeviceTransfer, IsCompleteWhereNothingHasBeenIssued) {
  DeviceTransfer transfer;
  transfer.complete("shmem_fence");
  EXPECT_FALSE(transfer.is_open());
}

}  // namespace
}  // namespace meshmem
