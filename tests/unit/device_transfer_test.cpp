// SPDX-License-Identifier: Apache-2.0
//
// Fence and quiet make no call of the device where it has been given nothing.
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
