// SPDX-License-Identifier: Apache-2.0
//
// The greatest and least values with their indices, of every type, in place and not. The host calls
// on memory of the host and of the device and on a stream; in kernels every group calls.
// Invariant: no routine is named here that the table has. Values are few, so that many are equal,
// and the ends of their type are among them; indices are of both signs and fill their type.
#include <cmath>
#include <limits>

#include "../api/team_views.hpp"
#include "forms.hpp"
#include "own_stream.hpp"

namespace meshmem {
namespace {

template <typename E>
using ValueOf = decltype(E::value);

template <typename V>
V value_of(int pe, size_t i) {
  using Limits = std::numeric_limits<V>;
  const bool is_float = std::is_floating_point<V>::value;
  // Places where all bring a NaN, one number among NaNs, and anything.
  if (is_float && i % 7 == 5) return Limits::quiet_NaN();
  if (is_float && i % 7 == 6 && pe != static_cast<int>(i) % n_pes()) return Limits::quiet_NaN();
  switch (scramble(seed_of(pe, i)) % 9) {
    case 0:
      return Limits::max();
    case 1:
      return Limits::lowest();
    case 2:
      return is_float ? -Limits::infinity() : Limits::lowest();
    case 3:
      return is_float ? Limits::quiet_NaN() : static_cast<V>(3);
    case 4:
      return static_cast<V>(-1);  // of unsigned types the greatest
    case 5:
      return static_cast<V>(-0.0);
    case 6:
      return static_cast<V>(0);
    default:
      return static_cast<V>(scramble(seed_of(pe, i)) % 3);
  }
}

template <typename E>
E element_of(int pe, size_t i) {
  using Index = decltype(E::index);
  using Limits = std::numeric_limits<Index>;
  const auto turn = static_cast<Index>((static_cast<size_t>(pe) + i) % 5);
  return {value_of<ValueOf<E>>(pe, i), i % 2 == 0 ? Limits::min() + turn : Limits::max() - turn};
}

// The rules as shmemx.h has them, without their order as one number.
template <typename E>
bool wins(bool wants_max, const E& one, const E& other) {
  const bool is_number = one.value == one.value, is_other = other.value == other.value;
  if (is_number != is_other) return is_number;
  if (!is_number || one.value == other.value) return one.index < other.index;
  return wants_max ? one.value > other.value : one.value < other.value;
}

template <typename E>
void expect_winners(const char* what, const std::vector<E>& found, const TeamView& view,
                    bool wants_max) {
  for (size_t i = 0; i < found.size(); ++i) {
    E wanted = element_of<E>(view.world(0), i);
    for (size_t pe = 1; pe < view.size(); ++pe) {
      const E other = element_of<E>(view.world(pe), i);
      if (wins(wants_max, other, wanted)) wanted = other;
    }
    const bool same_value =
        found[i].value == wanted.value || (std::isnan(static_cast<double>(found[i].value)) &&
                                           std::isnan(static_cast<double>(wanted.value)));
    ASSERT_TRUE(same_value && found[i].index == wanted.index)
        << what << ", element " << i << ": " << found[i].value << " at " << found[i].index
        << ", not " << wanted.value << " at " << wanted.index;
  }
}

constexpr size_t kMost = 4000;

class Buffers {
 public:
  explicit Buffers(long hints) {
    const size_t bytes = (kMost + 2) * sizeof(shmemx_double_loc_t);
    dest_ = shmem_malloc_with_hints(bytes, hints);
    source_ = shmem_malloc_with_hints(bytes, hints);
    if (!dest_ || !source_) shmem_global_exit(1);
  }
  ~Buffers() {
    shmem_free(source_);
    shmem_free(dest_);
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  // Elements of 16 bytes are then no multiple of 16 from the buffer's begin.
  template <typename E>
  static E* odd(void* memory) {
    return reinterpret_cast<E*>(static_cast<char*>(memory) + sizeof(E) / 2);
  }

  // run(dest, source) reduces on all PEs of the team; nothing synchronizes the two.
  template <typename E, typename Run>
  void check(const TeamView& view, bool wants_max, size_t n, const Run& run) const {
    E *dest = odd<E>(dest_), *source = odd<E>(source_);
    std::vector<E> mine(n), found(n);
    for (size_t i = 0; i < n; ++i) mine[i] = element_of<E>(my_pe(), i);
    const E behind = element_of<E>(my_pe(), kMost);
    copy(source, mine.data(), n);
    copy(dest + n, &behind, 1);
    run(dest, source);
    run(source, source);
    synchronize();
    E still = behind;
    copy(&still, dest + n, 1);
    EXPECT_EQ(still.index, behind.index) << "what is behind dest is written";
    copy(found.data(), dest, n);
    expect_winners("dest", found, view, wants_max);
    copy(found.data(), source, n);
    expect_winners("in place", found, view, wants_max);
    shmem_team_sync(view.team);  // others may still read the source
  }

 private:
  template <typename E>
  static void copy(E* to, const E* from, size_t n) {
    must(hipMemcpy(to, from, n * sizeof(E), hipMemcpyDefault), "hipMemcpy");
  }

  void *dest_ = nullptr, *source_ = nullptr;
};

// None, one, fewer than PEs, odd.
size_t count_of(size_t turn) {
  constexpr size_t kCounts[] = {13, 1, 0, 3, 61};
  return kCounts[turn % 5];
}

constexpr bool maxloc_reduce = true, minloc_reduce = false;

TEST(Located, EveryTypeByTheHostOnEveryTeam) {
  for (const long hints : {SHMEMX_MALLOC_HOST, SHMEMX_MALLOC_DEVICE}) {
    const Buffers buffers(hints);
    on_every_team([&](const TeamView& view) {
      size_t turn = 0;
#define MESHMEM_CHECK(name, op, E, ...)                                \
  {                                                                    \
    SCOPED_TRACE(testing::Message() << #name << ", memory " << hints); \
    const size_t n = count_of(turn++);                                 \
    buffers.check<E>(view, op, n, [&](E* dest, const E* source) {      \
      EXPECT_EQ(shmemx_##name(view.team, dest, source, n), 0);         \
    });                                                                \
  }
      MESHMEM_LOCATED(MESHMEM_CHECK)
#undef MESHMEM_CHECK
    });
  }
}

TEST(Located, EveryTypeOnAStreamOnEveryTeam) {
  const Buffers buffers(SHMEMX_MALLOC_DEVICE);
  const OwnStream stream;
  on_every_team([&](const TeamView& view) {
    size_t turn = 0;
#define MESHMEM_CHECK(name, op, E, ...)                                          \
  {                                                                              \
    SCOPED_TRACE(#name);                                                         \
    const size_t n = count_of(turn++);                                           \
    buffers.check<E>(view, op, n, [&](E* dest, const E* source) {                \
      EXPECT_EQ(shmemx_##op##_on_stream(view.team, dest, source, n, stream), 0); \
    });                                                                          \
  }
    MESHMEM_LOCATED(MESHMEM_CHECK)
#undef MESHMEM_CHECK
  });
}

// struct Call_<name>: a routine in a kernel, by its overload.
#define MESHMEM_CALL_LOCATED(name, op, Elem, result, params, args)                     \
  struct Call_##name {                                                                 \
    using E = Elem;                                                                    \
    static __device__ __attribute__((noinline)) result call MESHMEM_WITH_CALL params { \
      if (call.form == Form::kWave) return shmemx_##op##_wave args;                    \
      if (call.form == Form::kBlock) return shmemx_##op##_block args;                  \
      return shmemx_##op args;                                                         \
    }                                                                                  \
  };
MESHMEM_LOCATED(MESHMEM_CALL_LOCATED)

template <typename Routine>
__global__ void located_kernel(Call call, shmem_team_t team, typename Routine::E* dest,
                               const typename Routine::E* source, size_t n, int* failures) {
  if (!takes_part(call.form)) return;
  if (Routine::call(call, team, dest, source, n) != 0 && leads(call.form)) *failures = 1;
}

TEST(Located, EveryTypeByEveryGroupOnEveryTeam) {
  const Buffers buffers(SHMEMX_MALLOC_DEVICE);
  DeviceArray<int> failures{1, 0};
  on_every_team([&](const TeamView& view) {
    size_t turn = 0;
#define MESHMEM_CHECK(name, op, Elem, ...)                                               \
  for (const Form form : kGroups) {                                                      \
    SCOPED_TRACE(testing::Message() << #name << " by a " << name_of(form));              \
    const size_t n = count_of(turn++);                                                   \
    buffers.check<Elem>(view, op, n, [&](Elem* dest, const Elem* source) {               \
      launch(located_kernel<Call_##name>, 1, odd_block(), Call{form, SHMEM_CTX_DEFAULT}, \
             view.team, dest, source, n, failures.data());                               \
    });                                                                                  \
  }
    MESHMEM_LOCATED(MESHMEM_CHECK)
#undef MESHMEM_CHECK
  });
  EXPECT_EQ(failures.first(), 0);
}

__global__ void grid_kernel(shmem_team_t team, shmemx_double_loc_t* dest,
                            const shmemx_double_loc_t* source, size_t n, int* failures) {
  if (shmemx_double_minloc_reduce_grid(team, dest, source, n) != 0) *failures = 1;
}
__global__ void grid_kernel_of_ints(shmem_team_t team, shmemx_int_loc_t* dest,
                                    const shmemx_int_loc_t* source, size_t n, int* failures) {
  if (shmemx_maxloc_reduce_grid(team, dest, source, n) != 0) *failures = 1;
}

TEST(Located, ByGridsAndOfManyElements) {
  const Buffers buffers(SHMEMX_MALLOC_DEVICE);
  DeviceArray<int> failures{1, 0};
  const TeamView world = world_view();
  for (const size_t n : {size_t{3}, size_t{257}, kMost}) {
    SCOPED_TRACE(testing::Message() << "count " << n);
    buffers.check<shmemx_double_loc_t>(world, minloc_reduce, n, [&](auto* dest, auto* source) {
      launch_grid_on(nullptr, grid_kernel, dim3(5), odd_block(), world.team, dest, source, n,
                     failures.data());
    });
    buffers.check<shmemx_int_loc_t>(world, maxloc_reduce, n, [&](auto* dest, auto* source) {
      launch_grid_on(nullptr, grid_kernel_of_ints, dim3(5), odd_block(), world.team, dest, source,
                     n, failures.data());
    });
    buffers.check<shmemx_double_loc_t>(world, maxloc_reduce, n, [&](auto* dest, auto* source) {
      EXPECT_EQ(shmemx_maxloc_reduce(world.team, dest, source, n), 0);
    });
  }
  EXPECT_EQ(failures.first(), 0);
}

// Whatever algorithm is asked for.
TEST(Located, UnderEveryPlan) {
  const Buffers buffers(SHMEMX_MALLOC_DEVICE);
  const TeamView world = world_view();
  for (int i = 0; shmemx_reduce_plan_algorithm(i); ++i) {
    const std::string plan = std::string(shmemx_reduce_plan_algorithm(i)) + " 3 40";
    if (shmemx_reduce_plan(plan.c_str()) != 0) continue;
    SCOPED_TRACE(plan);
    buffers.check<shmemx_float_loc_t>(world, minloc_reduce, 700, [&](auto* dest, auto* source) {
      EXPECT_EQ(shmemx_minloc_reduce(world.team, dest, source, 700), 0);
    });
  }
  ASSERT_EQ(shmemx_reduce_plan(nullptr), 0);
}

}  // namespace
}  // namespace meshmem
