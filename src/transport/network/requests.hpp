// SPDX-License-Identifier: Apache-2.0
//
// The unanswered requests (gets, fetching atomics and questions), by number.
// Invariant: a number is used once, so an answer that no request waits for is recognized. No
// address travels. Callers hold the transport's lock; a thread that waits for `missing` need not.
#ifndef MESHMEM_TRANSPORT_NETWORK_REQUESTS_HPP_
#define MESHMEM_TRANSPORT_NETWORK_REQUESTS_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace meshmem::network {

// The purpose of a request. Answers with data of a PE's memory come in the order of the requests,
// so quiet needs only their number. An answer to a question may overtake them, so quiet leaves it
// out.
enum class Asks : bool { for_memory, a_question };

class Requests {
 public:
  // Adds a request whose answer comes from PE `from` and goes to dest. Returns its number. Raises
  // *missing, which the answer lowers; nullptr: no thread waits for this request alone.
  std::uint64_t add(int from, void* dest, std::size_t bytes, std::atomic<std::size_t>* missing,
                    Asks asks = Asks::for_memory);
  // The purpose of the request with this number; valid also right after its answer.
  Asks asks(std::uint64_t number) const {
    return requests_[static_cast<std::uint32_t>(number)].asks;
  }
  // Copies an answer to its dest. False: PE `from` was not asked for these bytes.
  bool answer(std::uint64_t number, int from, const std::byte* data, std::uint64_t bytes);

 private:
  struct Request {
    std::uint32_t uses = 0;  // how often this entry has been used
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
