// SPDX-License-Identifier: Apache-2.0
//
// The boards of all nodes. If this node has a PE's part, this PE works on it directly. Otherwise it
// asks a process of that PE's node to do so.
// Invariant: a process that is asked waits for nothing but the mutex of a part or locks of its
// cells. So PEs that ask each other all get their answers. Used by the checker, one thread at a
// time.
#ifndef MESHMEM_TOOLS_RACES_BOARDS_HPP_
#define MESHMEM_TOOLS_RACES_BOARDS_HPP_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "tools/races/parts.hpp"

namespace meshmem::races {

class Boards {
 public:
  // Collective. "" or why not. From then on other nodes may ask.
  std::string open(const TraceJob& job);
  void close();  // collective

  // The head of this node's board, this PE's part of the board, and the board.
  Head& head() const { return board_.head(); }
  PeBoard& mine() const { return board_.of(job_.pe); }
  const Board& of_node() const { return board_; }

  // As the functions of parts.hpp, for a PE of any node.
  std::optional<Access> add(int pe, const Range& range, const Access& access, bool has_told,
                            std::span<const std::uint32_t> clock) const;
  static constexpr std::size_t kMostSeen = 8;  // bytes, of a PE of another node
  Seen see(int pe, const Range& range, unsigned strand) const;
  void read_clocks(std::span<const int> pes, const Moment& moment, const UseNumber& use) const;

  Site site(int pe, std::uint32_t number) const;
  // True if no PE of the job has reported this pair of call sites. Counts the race, and a new pair.
  bool is_new_pair(std::uint64_t pair) const;
  // Notes on all nodes that some PE writes in ways that the checker does not see; orders: also that
  // it orders accesses in such ways.
  void note_unseen(bool orders);

 private:
  TraceJob job_;
  Board board_;
  bool has_told_of_unseen_[2] = {};  // note_unseen(false) and (true) have reached all nodes
};

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_BOARDS_HPP_
