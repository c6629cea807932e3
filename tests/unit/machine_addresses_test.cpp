// SPDX-License-Identifier: Apache-2.0
//
// Which addresses of other nodes may connect.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/machine/interfaces.hpp"

namespace meshmem {
namespace {

using Addresses = std::vector<std::string>;

const std::string kLoopback("\x7f\0\0\1", 4);
const MachineAddresses kOwn{.network = 1, .all = {kLoopback, "aaaa", "brdg"}};

TEST(MachineAddresses, OfThisMachineHaveLoopbackAndAName) {
  const MachineAddresses own = own_addresses();
  EXPECT_NE(std::find(own.all.begin(), own.all.end(), kLoopback), own.all.end());
  EXPECT_NE(own.network, 0u);
  EXPECT_EQ(own.network, own_addresses().network);
  for (const std::string& address : own.all)
    EXPECT_TRUE(address.size() == 4 || address.size() == 16);
}

TEST(MachineAddresses, OfOthersAreAdmittedButForThoseThatThisMachineHasToo) {
  EXPECT_EQ(addresses_to_admit(
                kOwn, {{2, {kLoopback, "cccc", "brdg"}}, {3, {kLoopback, "bbbb", "cccc"}}}),
            (Addresses{"bbbb", "cccc"}));
  EXPECT_EQ(addresses_to_admit(kOwn, {}), Addresses{});
}

TEST(MachineAddresses, OfANodeOnThisMachineAreAdmitted) {
  EXPECT_EQ(addresses_to_admit(kOwn, {{1, kOwn.all}}), (Addresses{"aaaa", "brdg", kLoopback}));
}

TEST(MachineAddresses, OfUnknownNetworksAreNotThisMachines) {
  EXPECT_EQ(addresses_to_admit({0, kOwn.all}, {{0, kOwn.all}}), Addresses{});
}

}  // namespace
}  // namespace meshmem
