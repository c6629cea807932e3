// SPDX-License-Identifier: Apache-2.0
//
// Fence and quiet do not call the device if it has been given nothing.
#include "gpu/device_transfer.hpp"

#include <gtest/gtest.h>

namespace meshmem {
namespace {

// A DeviceTransfer that has not been opened could not call it.
TEST(DeviceTransfer, IsCompleteWhereNothingHasBeenIssued) {
  DeviceTransfer transfer;
  transfer.complete("shmem_fence");
  EXPECT_FALSE(transfer.is_open());
}

}  // namespace
}  // namespace meshmem
