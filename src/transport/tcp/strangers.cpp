// SPDX-License-Identifier: Apache-2.0
//
// Who connects and has proved nothing yet. The oldest goes where there are too many, or where the
// process has no descriptor left; a process of the job that is sent away so comes again.
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "transport/tcp/tcp_wire.hpp"

namespace meshmem {
namespace {

constexpr int kMostAtOnce = 16;  // so that those who are of the job get their turn
constexpr auto kPause = std::chrono::milliseconds(100);

}  // namespace

void TcpWire::accept_some() {
  for (int count = 0; count < kMostAtOnce; ++count) {
    tcp::Descriptor socket(
        ::accept4(listening_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.number() < 0) {
      if (tcp::is_lack_of_room(errno) && !make_room_for_descriptor()) listen_for(false);
      return;
    }
    auto made = Connection::accept(std::move(socket), patience_);
    if (made == nullptr) continue;
    if (strangers_.size() >= kMostStrangers) end(*strangers_.front(), 0);
    strangers_.push_back(&add(std::move(made)));
  }
}

// False: no stranger has one.
bool TcpWire::make_room_for_descriptor() {
  if (strangers_.empty()) return false;
  end(*strangers_.front(), 0);
  return true;
}

void TcpWire::end_late_strangers(Time now) {
  while (!strangers_.empty() && now > strangers_.front()->since() + kPatienceWithStrangers)
    end(*strangers_.front(), 0);
}

// A listening socket that nothing can be taken from would wake who sleeps again and again.
void TcpWire::listen_for(bool wanted) {
  is_listening_ = wanted;
  epoll_event event{.events = EPOLLIN, .data = {.ptr = nullptr}};
  ::epoll_ctl(events_.number(), wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, listening_.number(),
              &event);
  if (!wanted) listen_again_ = tcp::Clock::now() + kPause;
}

}  // namespace meshmem
