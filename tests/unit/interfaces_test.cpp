// SPDX-License-Identifier: Apache-2.0
//
// Tests which of a machine's interfaces a job chooses.
#include "base/machine/interfaces.hpp"

#include <gtest/gtest.h>

namespace meshmem {
namespace {

std::string chosen_of(const std::vector<Interface>& all, const std::string& name = {}) {
  std::string error;
  const auto chosen = choose_interface(all, name, &error);
  return chosen ? chosen->name : error;
}

TEST(Interfaces, ThatOfTheDefaultRouteIsChosen) {
  const Interface loopback{.name = "lo", .is_loopback = true}, near{.name = "eth1"},
      outward{.name = "eth0", .leads_outward = true};
  EXPECT_EQ(chosen_of({loopback, near, outward}), "eth0");
  EXPECT_EQ(chosen_of({loopback, near}), "eth1");
  EXPECT_EQ(chosen_of({loopback}), "lo");
  EXPECT_EQ(chosen_of({loopback, near, outward}, "eth1"), "eth1");
}

// On a machine that runs virtual machines, its bridge has the machine's address.
TEST(Interfaces, ABridgeOfTheDefaultRouteIsChosenBeforeOthers) {
  const Interface loopback{.name = "lo", .is_loopback = true},
      containers{.name = "docker0", .is_virtual = true},
      machine{.name = "br0", .leads_outward = true, .is_virtual = true}, near{.name = "eth1"};
  EXPECT_EQ(chosen_of({loopback, containers, machine}), "br0");
  EXPECT_EQ(chosen_of({loopback, containers, machine, near}), "eth1")
      << "a tunnel may have the default route";
}

TEST(Interfaces, SaysWhichThereAre) {
  const Interface one{.name = "eth0"}, other{.name = "eth1"};
  EXPECT_EQ(chosen_of({one, other}, "eth7"),
            "TCP finds no network device \"eth7\"; it finds tcp over eth0, tcp over eth1");
  EXPECT_EQ(chosen_of({}), "no network is up; ip link set lo up");
}

}  // namespace
}  // namespace meshmem
