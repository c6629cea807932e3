// SPDX-License-Identifier: Apache-2.0
//
// The gets and fetching atomics that have not been answered, by number.
// Invariant: a number is used once, so that an answer that nobody waits for is known as such; no
// address travels. Under the lock of the transport, but for who waits for `missing`.
#ifndef MESHMEM_TRANSPORT_NETWORK_REQUESTS_HPP_
#define MESHMEM_TRANSPORT_NETWORK_REQUESTS_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace meshmem::network {

// Of memory answers come in the order of the requests, so quiet counts them. The answer to a
// question may overtake them.
enum class Asks : bool { for_memory, a_question };

class Requests {
 public:
  // The number of a request to PE `from`, whose answer fills dest. *missing counts the answers to
  // come and is raised here; nullptr: nobody waits for this one alone.
  std::uint64_t add(int from, void* dest, std::size_t bytes, std::atomic<std::size_t>* missing,
                    Asks asks = Asks::for_memory);
  // Of one that has been asked, also after its answer.
  Asks asks(std::uint64_t number) const {
    return requests_[static_cast<std::uint32_t>(number)].asks;
  }
  // False: PE `from` has not been asked for these bytes.
  bool answer(std::uint64_t number, int from, const std::byte* data, std::uint64_t bytes);

 private:
  struct Request {
    std::uint32_t uses = 0;  // of this place
    int from = -1;           // -1: free
    void* dest = nullptr;
    std::size_t bytes = 0;
    std::atomic<std::size_t>* missing = nullptr;
    Asks asks = Asks::for_memory;
  };
  std::vector<Request> requests_;
  std::vector<std::uint32_t> free_;
};

}  // namespace meshmem::network

#endif  // MESHMEM_TRANSPORT_NETWORK_REQUESTS_HPP_
