// SPDX-License-Identifier: Apache-2.0
//
// Makes and maps the board. Its memory is a file without a name. The first PE of the node makes the
// file, and the others open it through /proc/<pid>/fd.
#include "tools/races/board.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <pshmem.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace meshmem::races {
namespace {

// Nothing is mapped at these multiples: the board is one mapping, so its layout suits larger pages.
constexpr std::size_t kPage = 4096;
constexpr std::size_t pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

struct Name {
  int pid, fd;
};

int make_file(std::size_t bytes) {
  const int fd = memfd_create("meshmem-races", MFD_CLOEXEC);
  if (fd < 0) return -1;
  if (ftruncate(fd, static_cast<off_t>(bytes)) == 0) return fd;
  close(fd);
  return -1;
}

int open_of(const Name& name) {
  if (name.fd < 0) return -1;
  return open(fmt::format("/proc/{}/fd/{}", name.pid, name.fd).c_str(), O_RDWR | O_CLOEXEC);
}

}  // namespace

std::size_t Board::begin_of(int pe) const {
  const auto place = static_cast<std::size_t>(place_of_[static_cast<std::size_t>(pe)]);
  return pages(sizeof(Head)) + place * bytes_of_pe_;
}

int Board::count_places(const TraceJob& job) {
  int places = 0;
  place_of_.clear();
  for (int pe = 0; pe < job.n_pes; ++pe)
    place_of_.push_back(!job.ask || job.node_of(pe) == job.node ? places++ : -1);
  return places;
}

std::size_t Board::versions(unsigned strand) const {
  constexpr std::size_t kHalf = 512;
  if (n_strands_ == 1) return 2 * kHalf;
  return strand == 0 ? kHalf : std::max<std::size_t>(16, kHalf / (n_strands_ - 1));
}

std::span<std::uint32_t> Board::clock(const Worker& of, std::uint32_t version) const {
  const std::size_t numbers = rows() * n_pes_ * kOrders;
  auto* first = at<std::uint32_t>(begin_of(of.pe) + pages(sizeof(PeBoard)));
  const std::size_t before = of.strand == 0 ? 0 : versions(0) + (of.strand - 1) * versions(1);
  const std::size_t place = before + version % versions(of.strand);
  return {first + place * numbers, numbers};
}

std::span<Told> Board::told(int pe) const {
  return {at<Told>(begin_of(pe) + before_told_), n_strands_ * n_pes_};
}

// The ledger has two columns, for loads and stores. Each has a phase's number and a site for each
// half of a cell. Beside them is one byte for each cell (`unsettled`).
namespace {
constexpr std::size_t kEntriesOfCell = Cell::kBytes / LedgerColumn::kBytes;
constexpr std::size_t bytes_of_ledger(std::size_t cells) {
  const std::size_t entries = cells * kEntriesOfCell;
  return 2 * (pages(entries * sizeof(std::uint32_t)) + pages(entries * sizeof(std::uint16_t))) +
         pages(cells);
}
}  // namespace

Shadow Board::shadow(int pe) const {
  Shadow shadow{
      .cells = {at<Cell>(begin_of(pe) + before_shadow_), cells_}, .locks = of(pe).locks, .pe = pe};
  const std::size_t entries = cells_ * kEntriesOfCell;
  std::size_t begin = begin_of(pe) + before_ledger_;
  for (LedgerColumn* column : {&shadow.loads, &shadow.stores}) {
    column->numbers = at<std::uint32_t>(begin);
    begin += pages(entries * sizeof(std::uint32_t));
    column->sites = at<std::uint16_t>(begin);
    begin += pages(entries * sizeof(std::uint16_t));
  }
  shadow.unsettled = at<std::uint8_t>(begin);
  return shadow;
}

void Board::make_mutexes() const {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&head().mutex, &attributes);
  for (int pe = 0; static_cast<std::size_t>(pe) < n_pes_; ++pe)
    if (has(pe)) {
      pthread_mutex_init(&of(pe).mutex, &attributes);
      of(pe).n_rows = 1;
    }
  pthread_mutexattr_destroy(&attributes);
}

std::string Board::open(const TraceJob& job) {
  if (base_) munmap(base_, bytes_);  // the private memory that close() has put there
  base_ = nullptr;
  n_pes_ = static_cast<std::size_t>(job.n_pes);
  cells_ = (job.heap.bytes + job.statics.bytes) / Cell::kBytes + 4;
  n_strands_ =
      static_cast<unsigned>(std::clamp<std::size_t>(kMostWorkers / n_pes_, 1, kMaxStrands));
  // With more than one context there are kMaxStrands strands, so no row is left out.
  // PEs that poll learn only of the last signal of each strand. So all contexts count as one there.
  const std::size_t most_contexts = job.polls ? 1 : kMaxContexts;
  n_contexts_ = static_cast<unsigned>(
      std::clamp<std::size_t>(kMostWorkers / (n_pes_ * n_strands_), 1, most_contexts));
  const std::size_t clocks = (versions(0) + (n_strands_ - 1) * versions(1)) * rows() * n_pes_ *
                             kOrders * sizeof(std::uint32_t);
  before_told_ = pages(sizeof(PeBoard)) + pages(clocks);
  before_shadow_ = before_told_ + pages(n_strands_ * n_pes_ * sizeof(Told));
  before_ledger_ = before_shadow_ + pages(cells_ * sizeof(Cell));
  bytes_of_pe_ = before_ledger_ + bytes_of_ledger(cells_);
  bytes_ = pages(sizeof(Head)) + static_cast<std::size_t>(count_places(job)) * bytes_of_pe_;
  const int maker = job.ask ? job.first_pe_of_node : 0;

  auto* name = static_cast<Name*>(pshmem_malloc(sizeof(Name)));
  if (!name) return "the symmetric heap has no room for 8 bytes";
  int fd = -1;
  std::string error;
  if (job.pe == maker) {
    fd = make_file(bytes_);
    if (fd < 0) error = std::strerror(errno);
    *name = {getpid(), fd};
  }
  pshmem_barrier_all();
  Name first;
  pshmem_getmem(&first, name, sizeof first, maker);
  if (job.pe != maker) {
    fd = open_of(first);
    if (fd < 0) error = first.fd < 0 ? "another PE cannot make it" : std::strerror(errno);
  }
  void* map = error.empty()
                  ? mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0)
                  : MAP_FAILED;
  if (error.empty() && map == MAP_FAILED) error = std::strerror(errno);
  if (map != MAP_FAILED) base_ = static_cast<std::byte*>(map);
  if (base_ && job.pe == maker) make_mutexes();
  pshmem_free(name);  // is a barrier too, after which all have opened the file
  pshmem_barrier_all();
  if (fd >= 0) ::close(fd);
  return error.empty() ? "" : fmt::format("cannot map {} bytes: {}", bytes_, error);
}

// Puts private memory in place of the board: other threads of the program may still be about to
// note an access there.
void Board::close() {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (mmap(base_, bytes_, PROT_READ | PROT_WRITE, kFlags, -1, 0) != MAP_FAILED) return;
  munmap(base_, bytes_);
  base_ = nullptr;
}

Held::Held(pthread_mutex_t& mutex) : mutex_(mutex) {
  is_in_board = true;
  if (pthread_mutex_lock(&mutex_) == EOWNERDEAD) pthread_mutex_consistent(&mutex_);
}
Held::~Held() {
  pthread_mutex_unlock(&mutex_);
  is_in_board = false;
}

}  // namespace meshmem::races
