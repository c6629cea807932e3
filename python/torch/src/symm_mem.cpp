// SPDX-License-Identifier: Apache-2.0
//
// Pools, allocations and the rendezvous, for all types of devices.
// Invariant: rendezvous is the only collective after the first allocation, and only of its group.
#include "symm_mem.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace meshmem::pytorch::symm_mem {
namespace {

std::function<void()> start;

// Each rank tells the others where its allocation is, and the tensor in it.
std::vector<Peer> exchange(const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                           const Allocation& allocation, size_t tensor_offset) {
  const Peer mine{shmem_my_pe(), allocation.offset(), allocation.bytes, allocation.pad_bytes,
                  tensor_offset};
  const auto store = group->getStore();
  TORCH_CHECK(store, "rendezvous: group: process group ", group->getGroupName(), " has no store");
  const std::string prefix = "meshmem/" + group->getGroupName() + "/";
  // How often this rank has met groups of the name: one may be made again, over the same store.
  const int64_t meeting =
      store->add(prefix + "meetings/" + std::to_string(group->getRank()), 1) - 1;
  const auto key = [&](int64_t number, int rank) {
    return prefix + std::to_string(number) + "/" + std::to_string(rank);
  };
  std::vector<std::string> keys;
  for (int rank = 0; rank < group->getSize(); ++rank) keys.push_back(key(meeting, rank));
  const auto* const bytes = reinterpret_cast<const uint8_t*>(&mine);
  store->set(keys[group->getRank()], std::vector<uint8_t>(bytes, bytes + sizeof mine));

  const auto values = store->multiGet(keys);
  std::vector<Peer> peers(values.size());
  for (size_t rank = 0; rank < values.size(); ++rank)
    std::memcpy(&peers[rank], values[rank].data(), sizeof(Peer));
  // A rank that is here has read all keys of the meeting before.
  if (meeting) store->deleteKey(key(meeting - 1, group->getRank()));
  for (size_t rank = 0; rank < peers.size(); ++rank) {
    TORCH_CHECK_VALUE((peers[rank].pe == mine.pe) == (static_cast<int>(rank) == group->getRank()),
                      "rendezvous: group: ranks ", rank, " and ", group->getRank(), " are both PE ",
                      mine.pe, "; call init_process_group before symm_mem.empty");
    const auto expect_same = [&](uint64_t Peer::*number, const char* what) {
      TORCH_CHECK_VALUE(peers[rank].*number == mine.*number, "rendezvous: tensor: ", what,
                        mine.*number, " bytes on rank ", group->getRank(), ", but ",
                        peers[rank].*number, " bytes on rank ", rank);
    };
    expect_same(&Peer::bytes, "it has ");
    expect_same(&Peer::pad_bytes, "its signal pad has ");
    expect_same(&Peer::tensor_offset, "its offset in its allocation is ");
  }
  return peers;
}

// The bytes of the heap by its setting, or what its default is about.
size_t expected_heap(long hints) {
  const bool is_device = hints & SHMEMX_MALLOC_DEVICE;
  const char* const text = getenv(is_device ? "MESHMEM_DEVICE_HEAP_SIZE" : "SHMEM_SYMMETRIC_SIZE");
  char* end = nullptr;
  const double number = text ? strtod(text, &end) : 0;
  if (number > 0) {
    const size_t power = std::string(" kmgt").find(static_cast<char>(std::tolower(*end)));
    return static_cast<size_t>(std::ldexp(number, power <= 4 ? static_cast<int>(10 * power) : 0));
  }
  if (is_device) return size_t{1} << 30;
  return size_t{1} * sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / 2 /
         shmem_team_n_pes(SHMEM_TEAM_SHARED);
}

// Places and sizes of all pools, which stay until the job ends.
struct Pools {
  std::mutex mutex;
  std::vector<std::pair<const char*, size_t>> all;
};
Pools& all_pools() {
  static Pools& instance = *new Pools;
  return instance;
}

size_t agreed_minimum(size_t mine) {
  auto* const sizes =
      static_cast<size_t*>(shmem_malloc_with_hints(2 * sizeof(size_t), SHMEMX_MALLOC_HOST));
  TORCH_CHECK(sizes, "symm_mem.empty: the symmetric heap is full");
  sizes[0] = mine;
  shmem_size_min_reduce(SHMEM_TEAM_WORLD, sizes + 1, sizes, 1);
  const size_t least = sizes[1];
  shmem_free(sizes);
  return least;
}

}  // namespace

void set_start(std::function<void()> function) { start = std::move(function); }

void require_started() {
  int is_started = 0;
  shmem_query_initialized(&is_started);
  if (!is_started) start();
}

bool is_in_pool(const void* data) {
  Pools& pools = all_pools();
  const std::lock_guard lock(pools.mutex);
  const auto* const at = static_cast<const char*>(data);
  return std::any_of(pools.all.begin(), pools.all.end(), [at](const auto& pool) {
    return at >= pool.first && at < pool.first + pool.second;
  });
}

Pool::Pool(long hints) : size_(agreed_minimum(expected_heap(hints))) {
  while (!base_ && (size_ /= 2) >= kUnit)
    base_ = static_cast<char*>(shmem_malloc_with_hints(size_ / kUnit * kUnit, hints));
  TORCH_CHECK(base_, "symm_mem.empty: there is no symmetric memory",
              hints & SHMEMX_MALLOC_DEVICE ? " of a GPU" : "");
  free_[base_] = size_ = size_ / kUnit * kUnit;
  Pools& pools = all_pools();
  const std::lock_guard lock(pools.mutex);
  pools.all.emplace_back(base_, size_);
}

char* Pool::take(size_t bytes) {
  const std::lock_guard lock(mutex_);
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const auto [data, room] = *it;
    if (room < bytes) continue;
    free_.erase(it);
    if (room > bytes) free_[data + bytes] = room - bytes;
    return data;
  }
  return nullptr;
}

void Pool::give_back(char* data, size_t bytes) {
  const std::lock_guard lock(mutex_);
  auto next = free_.lower_bound(data);
  if (next != free_.end() && next->first == data + bytes) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == data) {
      before->second += bytes;
      return;
    }
  }
  free_[data] = bytes;
}

Allocation::Allocation(std::shared_ptr<Pool> from, size_t n, std::optional<std::string> group)
    : pool(std::move(from)),
      bytes(n),
      pad_bytes(c10d::symmetric_memory::get_signal_pad_size()),
      default_group(std::move(group)) {
  data = pool->take(whole_bytes());
  TORCH_CHECK_WITH(OutOfMemoryError, data, "symm_mem.empty: no ", bytes, " bytes are free in the ",
                   "pool of ", pool->size(), "; SHMEM_SYMMETRIC_SIZE or MESHMEM_DEVICE_HEAP_SIZE ",
                   "makes it larger");
  // A pad begins as zeros. This also writes device memory.
  const std::vector<char> zeros(pad_bytes);
  shmem_putmem(pad(), zeros.data(), pad_bytes, shmem_my_pe());
  shmem_quiet();
}

Allocation::~Allocation() {
  if (data) pool->give_back(data, whole_bytes());
}

void* Allocator::alloc(size_t size, int device, const std::optional<std::string>& group) {
  require_started();
  const std::lock_guard lock(mutex_);
  if (!pool_) pool_ = std::make_shared<Pool>(hints_);
  check_device(*pool_, device);
  auto allocation = std::make_shared<Allocation>(pool_, size, group);
  char* const data = allocation->data;
  allocations_[data] = std::move(allocation);
  return data;
}

void Allocator::free(void* ptr) {
  std::shared_ptr<Allocation> allocation;
  {
    const std::lock_guard lock(mutex_);
    const auto it = allocations_.find(static_cast<char*>(ptr));
    if (it == allocations_.end()) return;
    allocation = std::move(it->second);
    allocations_.erase(it);
  }
  settle();
  // Its handles keep the allocation. If the program has none of them, it ends here.
  const auto meetings = std::move(allocation->meetings);
}

size_t Allocator::get_alloc_size(void* ptr) {
  const auto allocation = find(ptr);
  TORCH_CHECK_VALUE(allocation, "get_alloc_size: ptr: it is not symmetric memory of meshmem");
  return allocation->bytes;
}

std::shared_ptr<Allocation> Allocator::find(const void* ptr, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto* const data = static_cast<const char*>(ptr);
  auto it = allocations_.upper_bound(const_cast<char*>(data));
  if (it == allocations_.begin()) return nullptr;
  const auto& allocation = (--it)->second;
  return data + bytes <= allocation->data + allocation->whole_bytes() ? allocation : nullptr;
}

c10::intrusive_ptr<SymmetricMemory> Allocator::rendezvous(void* ptr,
                                                          const std::optional<std::string>& name) {
  const auto allocation = find(ptr);
  TORCH_CHECK_VALUE(allocation || type_ != c10::kCPU,
                    "tensor: it is not symmetric memory, as symm_mem.empty makes it");
  if (!allocation) return nullptr;  // as torch's own code for CUDA expects
  TORCH_CHECK_VALUE(name || allocation->default_group, "rendezvous: group: none is given");
  const auto group = c10d::resolve_process_group(name ? *name : *allocation->default_group);
  const size_t offset = static_cast<char*>(ptr) - allocation->data;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& meeting : allocation->meetings)
      if (meeting.group._unsafe_get_target() == group.get() && meeting.offset == offset)
        return meeting.handle;
  }
  std::vector<Peer> peers;
  {
    const WithoutGil others_run;
    peers = exchange(group, *allocation, offset);
  }
  auto handle = make_handle(allocation, group->getRank(), std::move(peers), offset);
  const std::lock_guard lock(mutex_);
  allocation->meetings.push_back(
      {c10::weak_intrusive_ptr<c10d::ProcessGroup>(group), offset, handle});
  return handle;
}

}  // namespace meshmem::pytorch::symm_mem
