// SPDX-License-Identifier: Apache-2.0
//
// Makes the buffers and arguments of an operation, and checks its results. The caller's own memory
// holds the fetched word, then the three arrays of alltoallv.
#include "bench/trial.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace meshmem::bench {
namespace {

constexpr int kTimes = 3;  // rounds that --check compares

// More than a cache line, so that the signal has one of its own.
constexpr std::size_t kSignalBytes = 256;

Shape shape_of(const Options& options, Caller caller) {
  if (caller == Caller::thread) return {1, 1};
  if (caller == Caller::wave) return {1, wave_threads()};
  return {options.blocks, options.threads};
}

}  // namespace

Trial::Trial(const Operation& operation, const Options& options, int peer)
    : operation_(operation),
      options_(options),
      caller_(options.caller),
      on_device_(options.on_device),
      peer_(peer),
      n_(options.even_team ? (shmem_n_pes() + 1) / 2 : shmem_n_pes()),
      window_(options.window > 0          ? options.window
              : caller_ == Caller::stream ? 1
                                          : operation.window) {
  at_.bytes = options.max_bytes;
  at_.team = SHMEM_TEAM_WORLD;
  if (options.even_team)
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, n_, nullptr, 0, &at_.team);
  source_buffer_ = take_buffer(source_bytes(present_case()), on_device_);
  dest_buffer_ =
      options.in_place ? source_buffer_ : take_buffer(dest_bytes(present_case()), on_device_);
  const std::size_t skip = options.misaligned ? elem_bytes(operation) : 0;
  at_.source = static_cast<char*>(source_buffer_) + skip;
  at_.dest = static_cast<char*>(dest_buffer_) + skip;
  at_.signal = static_cast<std::uint64_t*>(take_buffer(kSignalBytes, on_device_));
  at_.float_dest = reinterpret_cast<float*>(at_.dest);
  at_.float_source = reinterpret_cast<float*>(at_.source);
  at_.word = reinterpret_cast<long*>(at_.dest);
  at_.word_of_source = reinterpret_cast<const long*>(at_.source);
  at_.pe = shmem_my_pe() == 0 ? peer_ : 0;
  at_.begins = shmem_my_pe() == 0;
  own_bytes_ = sizeof(long) + 3 * static_cast<std::size_t>(shmem_n_pes()) * sizeof(std::size_t);
  if (caller_ == Caller::host) {
    own_ = std::calloc(1, own_bytes_);
    if (!own_) fail("there is no memory for the arrays of alltoallv");
  } else {
    check(hipMalloc(&own_, own_bytes_), "allocate memory of the device");
  }
  at_.fetched = static_cast<long*>(own_);
  at_.dest_nelems = block_table(0);
  at_.source_nelems = block_table(1);
  at_.displs = block_table(2);
}

Trial::~Trial() {
  shmem_barrier_all();
  if (caller_ == Caller::host) {
    std::free(own_);
  } else {
    (void)hipFree(own_);
  }
  shmem_free(at_.signal);
  if (dest_buffer_ != source_buffer_) shmem_free(dest_buffer_);
  shmem_free(source_buffer_);
}

std::size_t* Trial::block_table(int which) const {
  static_assert(sizeof(long) == sizeof(std::size_t));
  return static_cast<std::size_t*>(own_) + 1 + which * shmem_n_pes();
}

Case Trial::present_case() const {
  return {operation_, shmem_team_my_pe(at_.team), n_, peer_, at_.bytes, window_, turn_};
}

std::size_t Trial::resize(std::size_t bytes) {
  const std::size_t elem = elem_bytes(operation_);
  const std::size_t count =
      operation_.size == Size::none ? 0 : std::max(bytes / elem, std::size_t{1});
  at_.bytes = (options_.count_odd && count > 1 ? count - 1 : count) * elem;
  return at_.bytes;
}

bool Trial::takes_part() const {
  const int me = shmem_my_pe();
  if (at_.team == SHMEM_TEAM_INVALID) return false;
  return operation_.who == Who::all || me == 0 || (operation_.who == Who::pair && me == peer_);
}

void Trial::run(int rounds, hipStream_t stream) {
  const Rounds these{next_, rounds, window_};
  next_ += static_cast<std::uint64_t>(rounds) * static_cast<std::uint64_t>(window_);
  if (caller_ == Caller::host) {
    operation_.on_host(at_, these);
  } else if (caller_ == Caller::stream) {
    operation_.on_stream(at_, these, stream);
  } else {
    check(launch(operation_.number(), caller_, at_, these, shape_of(options_, caller_), stream),
          "launch a kernel");
  }
}

Work Trial::work() {
  Work work;
  // A replayed graph repeats its call numbers, and a pair's signals count up with them.
  work.clock = caller_ == Caller::host                                    ? Clock::host
               : caller_ == Caller::stream && operation_.who != Who::pair ? Clock::graph
                                                                          : Clock::stream;
  work.operations_of_round = operation_.who == Who::pair && peer_ != 0 ? 2 * window_ : window_;
  if (takes_part()) work.run = [this](int rounds, hipStream_t stream) { run(rounds, stream); };
  return work;
}

void Trial::fill_block_tables() {
  const int n = shmem_n_pes(), me = shmem_my_pe();
  std::vector<std::size_t> own(1 + 3 * static_cast<std::size_t>(n));
  std::size_t* const tables = own.data() + 1;
  for (int pe = 0; pe < n; ++pe) {
    tables[pe] = nelems(at_.bytes, pe, me);
    tables[n + pe] = nelems(at_.bytes, me, pe);
    tables[2 * n + pe] = at_.bytes * static_cast<std::size_t>(pe);
  }
  copy(own_, own.data(), own_bytes_, caller_ != Caller::host);
}

void Trial::prepare() {
  const Bytes source = source_of(present_case()), dest = dest_before(present_case());
  const Bytes signal(kSignalBytes);
  copy(at_.dest, dest.data(), dest.size(), on_device_);  // first, as it may be the source
  copy(at_.source, source.data(), source.size(), on_device_);
  copy(at_.signal, signal.data(), signal.size(), on_device_);
  fill_block_tables();
  next_ = 0;
  shmem_barrier_all();
  if (operation_.answer != Answer::meeting) return;
  const int me = shmem_my_pe();
  shmem_long_p(at_.word, me + 1, (me + 1) % shmem_n_pes());
  shmem_quiet();
}

long Trial::compare() {
  Bytes found(dest_bytes(present_case()) + kGuardBytes);
  copy(found.data(), at_.dest, found.size(), on_device_);
  long fetched = 0;
  copy(&fetched, own_, sizeof fetched, caller_ != Caller::host);
  return bench::count_wrong(present_case(), found) +
         (fetched != fetched_after(present_case()) ? 1 : 0);
}

long Trial::count_wrong(Meter& meter) {
  long wrong = 0;
  const Work once = work();
  next_ = 0;
  const Graph graph = meter.capture(once, 1);
  for (int i = 0; i < (options_.check ? kTimes : 1); ++i) {
    ++turn_;
    prepare();
    meter.run(once, graph, 1, 1);
    meter.finish();
    if (operation_.who != Who::all) shmem_barrier_all();
    if (at_.team != SHMEM_TEAM_INVALID) wrong += compare();
    shmem_barrier_all();
  }
  return add_up(wrong);
}

}  // namespace meshmem::bench
