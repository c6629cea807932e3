// SPDX-License-Identifier: Apache-2.0
// Unique ids, and the messages of processes that meet by one. Tests over processes are in
// tests/launch.
#include "bootstrap/uniqueid.hpp"

#include <gtest/gtest.h>

#include "base/machine/interfaces.hpp"
#include "bootstrap/uniqueid_messages.hpp"

namespace meshmem {
namespace {

TEST(UniqueId, ComesOutOfItsBytesAsItWentIn) {
  UniqueId id{.port = 0xfedc, .n_addresses = 3, .launched = 0x80000001};
  for (std::size_t i = 0; i < id.token.size(); ++i)
    id.token[i] = static_cast<unsigned char>(0x80 + i);
  for (std::size_t i = 0; i < sizeof id.addresses[2]; ++i) id.addresses[2].s6_addr[i] = 0xf0 + i;
  const std::optional<UniqueId> same = unpack_unique_id(pack_unique_id(id));
  ASSERT_TRUE(same);
  EXPECT_EQ(same->token, id.token);
  EXPECT_EQ(same->port, id.port);
  EXPECT_EQ(same->launched, id.launched);
  ASSERT_EQ(same->n_addresses, id.n_addresses);
  EXPECT_EQ(text_of_address(same->addresses[2]), "f0f1:f2f3:f4f5:f6f7:f8f9:fafb:fcfd:feff");
}

TEST(UniqueId, OtherBytesAreNone) {
  EXPECT_FALSE(unpack_unique_id(UniqueIdBytes{}));
  UniqueIdBytes bytes = pack_unique_id({});
  EXPECT_TRUE(unpack_unique_id(bytes));
  bytes[7] ^= 1;  // the version
  EXPECT_FALSE(unpack_unique_id(bytes));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes = pack_unique_id({});
    bytes[i] = 0xff;
    const std::optional<UniqueId> id = unpack_unique_id(bytes);
    EXPECT_TRUE(!id || id->n_addresses <= kMostAddresses) << i;
  }
}

TEST(UniqueId, HasAddressesThatOthersReach) {
  const std::vector<in6_addr> all = addresses_of_machine("", kMostAddresses);
  ASSERT_FALSE(all.empty());
  EXPECT_LE(all.size(), kMostAddresses);
  ASSERT_FALSE(addresses_of_machine("lo", kMostAddresses).empty());
  EXPECT_EQ(text_of_address(addresses_of_machine("lo", kMostAddresses)[0]), "127.0.0.1");
  EXPECT_EQ(addresses_of_machine("no such interface", kMostAddresses).size(), all.size());
}

TEST(UniqueIdMessages, ArriveInPieces) {
  const std::string bytes =
      pack_message(MessageKind::put, Packed().add("key").add("").add(0x80000001U)) +
      pack_message(MessageKind::idle, {});
  std::string received;
  std::vector<Message> messages;
  for (const char byte : bytes) {
    received += byte;
    Message message{};
    if (unpack_message(received, message) == Unpacked::whole) messages.push_back(message);
  }
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0].kind, MessageKind::put);
  PackedReader reader(messages[0].body);
  EXPECT_EQ(reader.text(), "key");
  EXPECT_EQ(reader.text(), "");
  EXPECT_EQ(reader.number(), 0x80000001U);
  EXPECT_EQ(reader.number(), 0U);  // there is no more
  EXPECT_EQ(reader.text(), "");
  EXPECT_EQ(messages[1].kind, MessageKind::idle);
  EXPECT_EQ(messages[1].body, "");
}

TEST(UniqueIdMessages, WhatIsNoneIsNonsense) {
  Message message{};
  std::string unknown = Packed().add(1000U).add(0U).bytes();
  EXPECT_EQ(unpack_message(unknown, message), Unpacked::invalid);
  std::string too_long = Packed().add(1U).add(0xffffffffU).bytes();
  EXPECT_EQ(unpack_message(too_long, message), Unpacked::invalid);
  std::string lies(PackedReader("\xff\xff\xff\xff"
                                "abc")
                       .text());
  EXPECT_EQ(lies, "abc");
}

}  // namespace
}  // namespace meshmem
