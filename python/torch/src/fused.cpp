// SPDX-License-Identifier: Apache-2.0
//
// Loads libmeshmem_fused.so, checks tensors, and puts its collectives on the caller's stream.
#include "fused.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "checks.hpp"

namespace meshmem::pytorch {
namespace {

// Owns symmetric memory of all PEs. at() is null if the heap had no room for it.
class Scratch {
 public:
  Scratch(std::size_t bytes, long hints) : at_(shmem_malloc_with_hints(bytes, hints)) {}
  ~Scratch() { shmem_free(at_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  void* at() const { return at_; }

 private:
  void* at_;
};

// Collectives of all PEs. Raise on all of them if one has an objection, or another number.
void agree(const char* name, const std::string& objection, long number = 0) {
  const Scratch scratch(6 * sizeof(long), SHMEMX_MALLOC_HOST);
  TORCH_CHECK(scratch.at(), name, ": no symmetric memory");
  auto* const least = static_cast<long*>(scratch.at());
  long* const mine = least + 3;
  mine[0] = objection.empty();
  mine[1] = number;
  mine[2] = ~number;  // which is the least where the number is the greatest
  shmem_long_min_reduce(SHMEM_TEAM_WORLD, least, mine, 3);
  TORCH_CHECK(objection.empty(), objection);
  TORCH_CHECK(least[0], name, ": it failed on another PE, which says why");
  TORCH_CHECK_VALUE(least[1] == ~least[2], "stage_bytes: PEs give from ", least[1], " to ",
                    ~least[2]);
}

MakeFused* find_maker(const std::string& library, const char* maker) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  return handle ? reinterpret_cast<MakeFused*>(dlsym(handle, maker)) : nullptr;
}

void require_done(const Status& done) { TORCH_CHECK(done.ok(), done.text()); }

// Float, which not all take, is the last.
constexpr std::pair<c10::ScalarType, DataType> kTypes[] = {
    {at::kHalf, DataType::f16}, {at::kBFloat16, DataType::bf16}, {at::kFloat, DataType::f32}};

DataType type_of(const at::Tensor& tensor, const char* argument, bool takes_float) {
  require_usable(tensor, argument);
  const c10::ScalarType dtype = tensor.scalar_type();
  const auto* const end = std::end(kTypes) - (takes_float ? 0 : 1);
  const auto* const found =
      std::find_if(std::begin(kTypes), end, [&](const auto& row) { return row.first == dtype; });
  TORCH_CHECK_TYPE(found != end, argument, ": its dtype is ", dtype, ", but Half",
                   takes_float ? ", BFloat16 or Float" : " or BFloat16", " is needed");
  return found->second;
}

std::size_t wire_of(const std::string& wire) {
  const auto* const found = std::find(std::begin(kWires), std::end(kWires), wire);
  TORCH_CHECK_VALUE(found != std::end(kWires), "wire: '", wire, "' is not int8, e4m3 or e5m2");
  return static_cast<std::size_t>(found - std::begin(kWires));
}

}  // namespace

Fused::Fused(const char* name, const char* maker, const Options& options)
    : TeamObject(name, options.pes) {
  try {
    std::string objection;
    MakeFused* const make = find_maker(options.library, maker);
    if (!make) objection = c10::str(name, ": ", dlerror());
    if (!has_team()) objection = c10::str(name, ": the library has no more teams");
    agree(name, objection, options.stage_bytes);
    TORCH_CHECK_VALUE(options.stage_bytes > 0, "stage_bytes: ", options.stage_bytes,
                      " is not positive");
    {
      const Scratch scratch(1, SHMEMX_MALLOC_DEVICE);
      TORCH_CHECK(scratch.at(), name, ": no symmetric device memory");
      set_device(options.device_of(scratch.at()));
    }
    const c10::DeviceGuard current(device());
    collective_ = make(team(), static_cast<std::size_t>(options.stage_bytes));
    const Status& made = collective().status();
    agree(name, made || options.pes.empty() ? "" : made.text());
  } catch (...) {
    close();
    throw;
  }
}

void Fused::destroy() { delete std::exchange(collective_, nullptr); }

AllReduceNorm::Pair AllReduceNorm::execute(const at::Tensor& x, const at::Tensor& residual,
                                           const at::Tensor& weight, double eps,
                                           const std::optional<Pair>& out) {
  require_member();
  const DataType type = type_of(x, "x", false);
  const c10::ScalarType dtype = x.scalar_type();
  const std::int64_t hidden = x.dim() > 0 ? x.size(-1) : 0;
  TORCH_CHECK_VALUE(hidden > 0 && hidden % 8 == 0 && hidden <= std::int64_t{kMostHidden},
                    "x: rows of ", hidden, " elements, but a multiple of 8 up to ", kMostHidden,
                    " is needed");
  TORCH_CHECK_VALUE(eps >= 0 && eps <= std::numeric_limits<float>::max(), "eps: ", eps,
                    " is not a float from 0 on");
  require(x, "x", dtype, x.sizes());
  require(residual, "residual", dtype, x.sizes());
  require(weight, "weight", dtype, {hidden});
  if (out) {
    require(out->first, "y", dtype, x.sizes());
    require(out->second, "new_residual", dtype, x.sizes());
  }
  Pair results = out ? *out : Pair(empty(x.sizes(), dtype), empty(x.sizes(), dtype));
  const NormArrays arrays{x.const_data_ptr(),
                          residual.const_data_ptr(),
                          weight.const_data_ptr(),
                          results.first.mutable_data_ptr(),
                          results.second.mutable_data_ptr(),
                          static_cast<std::size_t>(x.numel() / hidden),
                          static_cast<std::size_t>(hidden),
                          static_cast<float>(eps)};
  put_on_stream([&](shmemx_stream_t stream) {
    require_done(static_cast<NormLayer&>(collective()).execute(arrays, type, stream));
  });
  return results;
}

std::vector<std::int64_t> Quantized::result_sizes(Move move, const at::Tensor& tensor) const {
  std::vector<std::int64_t> sizes = tensor.sizes().vec();
  if (move == Move::all_reduce) return sizes;
  const int n = shmem_team_n_pes(team());
  TORCH_CHECK_VALUE(!sizes.empty(), "tensor: it has no dimension");
  if (move == Move::all_gather) {
    sizes[0] *= n;
  } else {
    TORCH_CHECK_VALUE(sizes[0] % n == 0, "tensor: its shape is ", tensor.sizes(), ", but ", n,
                      " PEs cannot share ", sizes[0], " equally");
    sizes[0] /= n;
  }
  return sizes;
}

at::Tensor Quantized::execute(Move move, const at::Tensor& tensor, const std::string& wire,
                              const std::optional<at::Tensor>& out) {
  require_member();
  const DataType type = type_of(tensor, "tensor", true);
  const c10::ScalarType dtype = tensor.scalar_type();
  const std::size_t wire_index = wire_of(wire);
  require(tensor, "tensor", dtype, tensor.sizes());
  const auto sizes = result_sizes(move, tensor);
  if (out) require(*out, "out", dtype, sizes);
  at::Tensor result = out ? *out : empty(sizes, dtype);
  const std::int64_t count = std::min(tensor.numel(), result.numel());  // of one share
  const MoveArrays arrays{tensor.const_data_ptr(), result.mutable_data_ptr(),
                          static_cast<std::size_t>(count)};
  put_on_stream([&](shmemx_stream_t stream) {
    auto& moves = static_cast<QuantizedMoves&>(collective());
    require_done(moves.execute(move, arrays, type, wire_index, stream));
  });
  return result;
}

}  // namespace meshmem::pytorch
