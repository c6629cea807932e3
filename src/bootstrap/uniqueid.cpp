// SPDX-License-Identifier: Apache-2.0
//
// Code that the meeting point and its clients share: the bytes of the id and of messages, and the
// connections, which children of fork close. Invariant: no connection is closed while a fork is
// under way. Otherwise the child could close a descriptor that another thread has just got under
// the same number.
#include "bootstrap/uniqueid.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <set>
#include <string_view>

#include "base/machine/socket_patience.hpp"
#include "bootstrap/uniqueid_messages.hpp"

namespace meshmem {
namespace {

// The last letter is the version of the bytes and of the messages (uniqueid_messages.hpp).
constexpr std::string_view kMagic = "meshmem3";
static_assert(kMagic.size() + sizeof(UniqueId) <= sizeof(UniqueIdBytes));

struct Descriptors {
  std::mutex mutex;
  std::set<int> open;
};

Descriptors& descriptors() {  // never freed, since a fork may come while the process exits
  static Descriptors& all = *new Descriptors;
  return all;
}

void before_fork() { descriptors().mutex.lock(); }
void after_fork() { descriptors().mutex.unlock(); }
void in_child() {
  for (const int fd : descriptors().open) close(fd);
  descriptors().open.clear();
  descriptors().mutex.unlock();
}

}  // namespace

void keep_from_children(int fd) {
  [[maybe_unused]] static const int once = pthread_atfork(before_fork, after_fork, in_child);
  const std::lock_guard lock(descriptors().mutex);
  descriptors().open.insert(fd);
}

void close_kept_from_children(int fd) {
  const std::lock_guard lock(descriptors().mutex);
  descriptors().open.erase(fd);
  close(fd);
}

UniqueIdBytes pack_unique_id(const UniqueId& id) {
  UniqueIdBytes bytes{};
  std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  std::memcpy(bytes.data() + kMagic.size(), &id, sizeof id);
  return bytes;
}

std::optional<UniqueId> unpack_unique_id(const UniqueIdBytes& bytes) {
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) return std::nullopt;
  UniqueId id;
  std::memcpy(&id, bytes.data() + kMagic.size(), sizeof id);
  return id.n_addresses <= kMostAddresses ? std::optional(id) : std::nullopt;
}

void set_up_connection(int fd) {
  constexpr int kMostSilence = 20;  // seconds
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  be_patient(fd, kMostSilence);
  keep_from_children(fd);
}

std::string pack_message(MessageKind kind, const Packed& body) {
  return Packed().add(static_cast<std::uint32_t>(kind)).add(body.bytes()).bytes();
}

Unpacked unpack_message(std::string& bytes, Message& message) {
  constexpr std::size_t kHead = 8, kLongestBody = std::size_t{1} << 26;
  if (bytes.size() < kHead) return Unpacked::more_to_come;
  PackedReader reader(bytes);
  const std::uint32_t kind = reader.number();
  const std::size_t length = PackedReader(std::string_view(bytes).substr(4)).number();
  if (kind > static_cast<std::uint32_t>(MessageKind::ended) || length > kLongestBody)
    return Unpacked::invalid;
  if (bytes.size() < kHead + length) return Unpacked::more_to_come;
  message = {static_cast<MessageKind>(kind), std::string(reader.text())};
  bytes.erase(0, kHead + length);
  return Unpacked::whole;
}

}  // namespace meshmem
