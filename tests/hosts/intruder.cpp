// SPDX-License-Identifier: Apache-2.0
// A stranger on the network: sends messages to a process of a job that the process must not
// believe.
// Invariant: it knows where a PE listens, as anybody on the network can, and nothing that only the
// job knows. Run by test_start.py on a machine of the job.
// Usage: intruder raw IP PORT | intruder wire IP PORT OWN_IP PLUGIN
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "transport/wire.hpp"

namespace {

using namespace std::chrono_literals;

std::mt19937_64 dice(1);

std::string random_bytes(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (char& byte : text) byte = static_cast<char>(dice());
  return text;
}

sockaddr_in place(const char* ip, const char* port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
  inet_pton(AF_INET, ip, &address.sin_addr);
  return address;
}

// Bytes that are no message of UCX, on connections that stay open for a while.
int send_raw(const sockaddr_in& to) {
  std::vector<int> sockets;
  for (std::size_t bytes : {0, 1, 7, 64, 4096, 1 << 20}) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return 1;
    const std::string text = random_bytes(bytes);
    (void)::send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    sockets.push_back(fd);
  }
  ::sleep(1);
  for (int fd : sockets) ::close(fd);
  std::puts("sent raw bytes");
  return 0;
}

struct Listener : meshmem::WireListener {
  int taken = 0, lost = 0;
  void handle_message(int, const std::byte*, std::size_t, const std::byte*, std::size_t) override {
    ++taken;
  }
  bool accepts_introduction(const std::byte*, std::size_t) override { return true; }
  void handle_loss(int, const std::string&, bool) override { ++lost; }
};

// An address of the network's with another machine and port in it. False: they are not there.
bool replace_all(std::string& address, std::string_view from, std::string_view to) {
  bool found = false;
  for (std::size_t at = 0; (at = address.find(from, at)) != std::string::npos; at += to.size()) {
    address.replace(at, from.size(), to);
    found = true;
  }
  return found;
}

std::string_view bytes_of(const auto& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// The ports on which this process listens, as they are in an address.
std::vector<in_port_t> own_ports() {
  std::vector<in_port_t> ports;
  for (int fd = 3; fd < 256; ++fd) {
    sockaddr_in name{};
    socklen_t bytes = sizeof name;
    int listens = 0;
    socklen_t int_bytes = sizeof listens;
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &int_bytes) != 0 || listens == 0) {
      continue;
    }
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &bytes) != 0) continue;
    if (name.sin_family == AF_INET) ports.push_back(name.sin_port);
  }
  return ports;
}

std::unique_ptr<meshmem::Wire> open_wire(const char* plugin, Listener& listener) {
  void* library = ::dlopen(plugin, RTLD_NOW);
  void* symbol = library != nullptr ? ::dlsym(library, meshmem::kMakeWireSymbol) : nullptr;
  if (symbol == nullptr) return nullptr;
  std::string error;
  const meshmem::WireRequest request{meshmem::kWireVersion, &listener, "eth0", 10, false};
  return std::unique_ptr<meshmem::Wire>(
      reinterpret_cast<meshmem::MakeWire>(symbol)(request, &error));
}

// Messages as the job's own network brings them, of every length, with and without introduction.
int send_messages(const sockaddr_in& to, const char* own_ip, const char* plugin) {
  Listener listener;
  const std::unique_ptr<meshmem::Wire> wire = open_wire(plugin, listener);
  if (wire == nullptr) return 1;
  std::string address = wire->address();
  const sockaddr_in own = place(own_ip, "0");
  bool found = replace_all(address, bytes_of(own.sin_addr), bytes_of(to.sin_addr));
  bool found_port = false;
  for (in_port_t port : own_ports()) {
    found_port |= replace_all(address, bytes_of(port), bytes_of(to.sin_port));
  }
  if (!found || !found_port) return 2;
  const int peer = wire->connect(address);
  static int sent = 0;
  std::vector<std::unique_ptr<std::pair<std::string, std::string>>> kept;
  for (int i = 0; i < 200; ++i) {
    const std::size_t head = 8 * (dice() % (meshmem::Wire::kMaxHeadBytes / 8 + 1));
    kept.push_back(std::make_unique<std::pair<std::string, std::string>>(
        i % 3 ? random_bytes(head) : std::string(head, '\0'),
        random_bytes(dice() % (1 << (i % 18)))));
    const auto& [first, second] = *kept.back();
    wire->send(peer, {first.data(), first.size(), second.data(), second.size(), i % 4 == 0,
                      [](void*) { ++sent; }, nullptr});
  }
  const auto end = std::chrono::steady_clock::now() + 2s;
  while (std::chrono::steady_clock::now() < end) {
    if (!wire->progress()) ::usleep(1000);
  }
  std::printf("sent %d messages, got %d, lost %d\n", sent, listener.taken, listener.lost);
  std::fflush(stdout);
  ::_exit(0);  // in the middle of everything
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc > 3 ? argv[1] : "";
  if (how == "raw") return send_raw(place(argv[2], argv[3]));
  if (how == "wire" && argc == 6) return send_messages(place(argv[2], argv[3]), argv[4], argv[5]);
  std::fputs("intruder raw IP PORT | intruder wire IP PORT OWN_IP PLUGIN\n", stderr);
  return 2;
}
