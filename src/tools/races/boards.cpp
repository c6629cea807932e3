// SPDX-License-Identifier: Apache-2.0
//
// Questions to PEs of other nodes, and their answers. All questions have the same size. Numbers may
// follow one: the clock of the PE that adds an access, or the PEs whose clocks are wanted.
// Invariant: questions and answers come from other processes, so all that they name is checked
// before it is used.
#include "tools/races/boards.hpp"

#include <fmt/format.h>
#include <pshmem.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <map>
#include <vector>

namespace meshmem::races {
namespace {

enum class Wanted : std::uint32_t { add, see, clocks, site, pair, unseen };

// Fields by what is wanted:
//   add     pe range access flag (the PE may see it by loads); the asker's clock
//   see     pe range asker number (of its strand)
//   clocks  moment, number (of the first that is wanted); PEs
//   site    pe number
//   pair    pair
//   unseen  flag (orders)
struct Question {
  Wanted wanted;
  std::int32_t pe = 0;
  std::int32_t asker = 0;
  std::uint32_t number = 0;
  std::uint32_t flag = 0;
  Moment moment = {};
  Range range = {};
  Access access = {};
  std::uint64_t pair = 0;
};

struct Added {
  std::uint32_t has_race = 0;
  Access with = {};
};
struct SeenThere {
  // Two cells may have these writes, and the ledger beside them.
  static constexpr std::size_t kOfCell = Cell::kAccesses + Cell::kBytes / LedgerColumn::kBytes,
                               kMost = (Boards::kMostSeen / Cell::kBytes + 1) * kOfCell;
  std::uint32_t is_known = 0, n = 0;
  Access writes[kMost] = {};
};
// A piece of a clock: a long one takes several answers.
struct Numbers {
  std::uint32_t n = 0;  // of the whole clock
  std::array<std::uint32_t, 1024> piece{};
};
// A question with an access has the whole clock behind it.
constexpr std::size_t kMostPes =
    (kMostOfQuestion - sizeof(Question)) / sizeof(std::uint32_t) / kOrders;
static_assert(kMostWorkers <= kMostPes);
// Bytes of an access that go into a shadow at once: the process that is asked takes in no messages
// meanwhile.
constexpr std::size_t kMostAdded = std::size_t{1} << 20;

// ---- Answers

const Board* answering = nullptr;
int n_pes_of_job = 0;

bool is_possible(const Board& board, const Access& access) {
  return access.pe < n_pes_of_job && access.row < board.rows() && access.site < PeBoard::kSites;
}
bool is_of(const Board& board, int pe) { return pe >= 0 && pe < n_pes_of_job && board.has(pe); }

template <typename Answer>
bool give(const Answer& answer, std::byte* to, std::size_t bytes) {
  if (bytes != sizeof answer) return false;
  std::memcpy(to, &answer, sizeof answer);
  return true;
}

Added answer_add(const Board& board, const Question& question,
                 std::span<const std::uint32_t> clock) {
  const auto race = add_to_part(board, question.pe, question.range, question.access,
                                question.flag != 0, Clock(clock, n_pes_of_job));
  return race ? Added{1, *race} : Added{};
}

SeenThere answer_see(const Board& board, const Question& question) {
  const Seen seen =
      see_in_part(board, question.pe, question.range, {question.asker, question.number});
  SeenThere there{.is_known = seen.is_known};
  for (const Access& write : seen.writes)
    if (there.n < SeenThere::kMost) there.writes[there.n++] = write;
  return there;
}

// Returns the greatest numbers in the clocks of the PEs that are asked for.
Numbers answer_clocks(const Board& board, const Question& question,
                      std::span<const std::uint32_t> pes) {
  Numbers greatest;
  const auto use = [&](std::size_t i, std::uint32_t number) {
    if (i < question.number || i - question.number >= greatest.piece.size()) return;
    std::uint32_t& known = greatest.piece[i - question.number];
    known = std::max(known, number);
  };
  for (const std::uint32_t pe : pes) {
    read_clock_of_part(board, static_cast<int>(pe), question.moment, use);
    const auto numbers = static_cast<std::uint32_t>(count_numbers(board, static_cast<int>(pe)));
    greatest.n = std::max(greatest.n, numbers);
  }
  return greatest;
}

bool are_of(const Board& board, std::span<const std::uint32_t> pes) {
  return std::all_of(pes.begin(), pes.end(),
                     [&](std::uint32_t pe) { return is_of(board, static_cast<int>(pe)); });
}

bool answer_question(const Question& question, std::span<std::uint32_t> behind, std::byte* to,
                     std::size_t bytes) {
  const Board& board = *answering;
  const bool is_pe = is_of(board, question.pe);
  switch (question.wanted) {
    case Wanted::add:
      return is_pe && question.range.bytes <= kMostAdded && is_possible(board, question.access) &&
             give(answer_add(board, question, behind), to, bytes);
    case Wanted::see:
      return is_pe && question.range.bytes <= Boards::kMostSeen &&
             give(answer_see(board, question), to, bytes);
    case Wanted::clocks:
      return are_of(board, behind) && question.moment.strand < board.strands() &&
             give(answer_clocks(board, question, behind), to, bytes);
    case Wanted::site:
      return is_pe && question.number < PeBoard::kSites &&
             give(board.of(question.pe).sites[question.number], to, bytes);
    case Wanted::pair:
      return give(std::uint32_t{add_pair(board.head(), question.pair)}, to, bytes);
    case Wanted::unseen:
      note_unseen_in(board.head(), question.flag != 0);
      return give(std::uint32_t{0}, to, bytes);
  }
  return false;
}

bool answer(const std::byte* data, std::size_t bytes, std::byte* to, std::size_t answer_bytes) {
  Question question{};
  if (bytes < sizeof question) return false;
  std::memcpy(&question, data, sizeof question);
  std::vector<std::uint32_t> behind((bytes - sizeof question) / sizeof(std::uint32_t));
  if (!behind.empty())
    std::memcpy(behind.data(), data + sizeof question, behind.size() * sizeof behind[0]);
  return answer_question(question, behind, to, answer_bytes);
}

// ---- Questions

template <typename Answer>
Answer ask(const TraceJob& job, int pe, const Question& question,
           std::span<const std::uint32_t> behind = {}) {
  static_assert(sizeof(Answer) <= kMostOfAnswer);
  std::vector<std::byte> data(sizeof question + behind.size_bytes());
  std::memcpy(data.data(), &question, sizeof question);
  if (!behind.empty())
    std::memcpy(data.data() + sizeof question, behind.data(), behind.size_bytes());
  Answer answer;
  job.ask(pe, data.data(), data.size(), &answer, sizeof answer);
  return answer;
}

// Asks for the clocks of PEs of one other node.
void ask_for_clocks(const TraceJob& job, std::size_t most, std::span<const std::uint32_t> pes,
                    const Moment& moment, const UseNumber& use) {
  std::size_t numbers = 1;
  for (std::size_t first = 0; first < numbers;) {
    const auto answered = ask<Numbers>(
        job, static_cast<int>(pes.front()),
        {.wanted = Wanted::clocks, .number = static_cast<std::uint32_t>(first), .moment = moment},
        pes);
    numbers = std::min<std::size_t>(answered.n, most);
    for (std::size_t i = 0; i < answered.piece.size() && first < numbers; ++i, ++first)
      use(first, answered.piece[i]);
  }
}

}  // namespace

std::string Boards::open(const TraceJob& job) {
  job_ = job;
  if (job.ask && static_cast<std::size_t>(job.n_pes) > kMostPes)
    return fmt::format("a job over several machines may have at most {} PEs", kMostPes);
  if (std::string error = board_.open(job); !error.empty()) return error;
  if (!job.ask) return "";
  std::fill(std::begin(has_told_of_unseen_), std::end(has_told_of_unseen_), false);
  answering = &board_;
  n_pes_of_job = job.n_pes;
  job.answer_with(answer);
  pshmem_barrier_all();
  return "";
}

void Boards::close() {
  if (job_.ask) {
    pshmem_barrier_all();
    job_.answer_with(nullptr);
  }
  board_.close();
}

std::optional<Access> Boards::add(int pe, const Range& range, const Access& access, bool has_told,
                                  std::span<const std::uint32_t> clock) const {
  std::optional<Access> race;
  for (std::size_t done = 0; done < range.bytes; done += kMostAdded) {
    const Range piece{range.offset + done, std::min(kMostAdded, range.bytes - done)};
    if (board_.has(pe)) {
      const auto found = add_to_part(board_, pe, piece, access, has_told, Clock(clock, job_.n_pes));
      if (!race) race = found;
      continue;
    }
    const auto added = ask<Added>(
        job_, pe,
        {.wanted = Wanted::add, .pe = pe, .flag = has_told, .range = piece, .access = access},
        clock);
    if (added.has_race && is_possible(board_, added.with) && !race) race = added.with;
  }
  return race;
}

Seen Boards::see(int pe, const Range& range, unsigned strand) const {
  if (board_.has(pe)) return see_in_part(board_, pe, range, {job_.pe, strand});
  const auto there = ask<SeenThere>(
      job_, pe,
      {.wanted = Wanted::see, .pe = pe, .asker = job_.pe, .number = strand, .range = range});
  Seen seen{.writes = {}, .is_known = there.is_known != 0};
  std::copy_if(there.writes, there.writes + std::min<std::size_t>(there.n, SeenThere::kMost),
               std::back_inserter(seen.writes),
               [this](const Access& write) { return is_possible(board_, write); });
  return seen;
}

void Boards::read_clocks(std::span<const int> pes, const Moment& moment,
                         const UseNumber& use) const {
  std::map<int, std::vector<std::uint32_t>> pes_of_node;
  for (const int pe : pes) {
    if (board_.has(pe))
      read_clock_of_part(board_, pe, moment, use);
    else
      pes_of_node[job_.node_of(pe)].push_back(static_cast<std::uint32_t>(pe));
  }
  const std::size_t most = board_.rows() * static_cast<std::size_t>(job_.n_pes) * kOrders;
  for (const auto& [node, theirs] : pes_of_node) ask_for_clocks(job_, most, theirs, moment, use);
}

Site Boards::site(int pe, std::uint32_t number) const {
  if (board_.has(pe)) return board_.of(pe).sites[number];
  Site site = ask<Site>(job_, pe, {.wanted = Wanted::site, .pe = pe, .number = number});
  site.place[sizeof site.place - 1] = '\0';
  return site;
}

bool Boards::is_new_pair(std::uint64_t pair) const {
  if (board_.has(0)) return add_pair(board_.head(), pair);
  return ask<std::uint32_t>(job_, 0, {.wanted = Wanted::pair, .pair = pair}) != 0;
}

// Each PE that writes so tells the other nodes itself. A PE that finds the flag set may be ahead of
// the PE that is still telling them.
void Boards::note_unseen(bool orders) {
  note_unseen_in(board_.head(), orders);
  if (!job_.ask || has_told_of_unseen_[orders]) return;
  has_told_of_unseen_[orders] = true;
  std::vector<bool> is_told(static_cast<std::size_t>(job_.n_nodes), false);
  for (int pe = 0; pe < job_.n_pes; ++pe) {
    const auto node = static_cast<std::size_t>(job_.node_of(pe));
    if (board_.has(pe) || is_told[node]) continue;
    is_told[node] = true;
    ask<std::uint32_t>(job_, pe, {.wanted = Wanted::unseen, .flag = orders});
  }
}

}  // namespace meshmem::races
