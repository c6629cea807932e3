// SPDX-License-Identifier: Apache-2.0
// Launching a kernel: its arguments are converted to the types of its parameters, copied, and
// handed to the library.
// Invariant: the copies live until no stream or graph can run the launch again.
// Included by hip_runtime.h only; submit.cpp takes over.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "hip/on_cpu/thread.h"

#pragma GCC visibility push(default)
namespace hip_on_cpu {

// A kernel and its arguments, without their types. `run` is null if the kernel's address is null or
// its type unknown; `destroy` deletes `arguments`.
struct BoundKernel {
  const char* name;
  void (*run)(const void* arguments);
  void (*destroy)(void* arguments);
  void* arguments;
};

// Takes over the kernel's arguments, also when it fails; a failure is remembered for
// hipGetLastError.
hipError_t submit_kernel(const BoundKernel& kernel, dim3 grid, dim3 block, std::size_t shared,
                         hipStream_t stream, bool is_cooperative = false);

hipError_t blocks_per_multiprocessor(int* blocks, int block_size, std::size_t shared);

// The values of a kernel's parameters, and the call that takes them. The call is the kernel's
// address, or a function object that chooses among kernels of one name, or deduces a template's
// arguments.
template <typename Call, typename... Values>
struct KernelArguments {
  Call call;
  std::tuple<Values...> values;

  static void run(const void* self) {
    const auto* arguments = static_cast<const KernelArguments*>(self);
    std::apply(arguments->call, arguments->values);
  }
  static void destroy(void* self) { delete static_cast<KernelArguments*>(self); }
};
template <typename Call, typename... Values>
inline BoundKernel bind_arguments(const char* name, Call call, std::tuple<Values...> values) {
  using Arguments = KernelArguments<Call, Values...>;
  BoundKernel bound{name, &Arguments::run, &Arguments::destroy, nullptr};
  if constexpr (std::is_pointer<Call>::value) {
    if (call == nullptr) bound.run = nullptr;
  }
  bound.arguments = new Arguments{std::move(call), std::move(values)};
  return bound;
}

// The values between <<< and >>>.
struct LaunchShape {
  dim3 grid, block;
  std::size_t shared;
  hipStream_t stream;
};

// A kernel with its launch shape; the call gives the arguments alone.
template <typename Kernel>
struct CallWithShape {
  Kernel kernel;
  LaunchShape shape;

  template <typename... Arguments>
  void operator()(Arguments... arguments) const {
    kernel(shape.grid, shape.block, shape.shared, shape.stream, std::move(arguments)...);
  }
};

// A kernel's name that is called with copies of the arguments. The name may be overloaded, or a
// template's.
template <typename Call>
struct CalledKernel {
  const char* name;
  Call call;

  template <typename... Arguments>
  void operator()(dim3 grid, dim3 block, std::size_t shared, hipStream_t stream,
                  Arguments... arguments) const {
    constexpr bool kTakes = std::is_invocable<const Call&, const Arguments&...>::value;
    static_assert(kTakes, "the kernel takes another number of arguments, or other types");
    if constexpr (kTakes) {
      submit_kernel(bind_arguments(name, call, std::tuple<Arguments...>(std::move(arguments)...)),
                    grid, block, shared, stream);
    }
  }
  CallWithShape<CalledKernel> on(dim3 grid, dim3 block, std::size_t shared = 0,
                                 hipStream_t stream = nullptr) const {
    return {*this, {grid, block, shared, stream}};
  }
};

// CallWithShape for a kernel with known parameters: converts the arguments to their types.
template <typename Kernel, typename... Parameters>
struct TypedCallWithShape : CallWithShape<Kernel> {
  void operator()(Parameters... values) const {
    const LaunchShape& shape = this->shape;
    this->kernel(shape.grid, shape.block, shape.shared, shape.stream, std::move(values)...);
  }
  template <typename... Arguments>
  std::enable_if_t<sizeof...(Arguments) != sizeof...(Parameters)> operator()(
      Arguments... arguments) const {
    CallWithShape<Kernel>::operator()(std::move(arguments)...);
  }
};

// The name of one kernel: arguments are converted to its parameters' types before it is launched.
// If there are fewer, the kernel may have default arguments, so they are passed as they are.
template <typename Call, typename... Parameters>
struct KernelWithAddress {
  CalledKernel<Call> called;
  void (*kernel)(Parameters...);

  void operator()(dim3 grid, dim3 block, std::size_t shared, hipStream_t stream,
                  Parameters... values) const {
    submit_kernel(
        bind_arguments(called.name, kernel, std::tuple<Parameters...>(std::move(values)...)), grid,
        block, shared, stream);
  }
  template <typename... Arguments>
  std::enable_if_t<sizeof...(Arguments) != sizeof...(Parameters)> operator()(
      dim3 grid, dim3 block, std::size_t shared, hipStream_t stream, Arguments... arguments) const {
    called(grid, block, shared, stream, std::move(arguments)...);
  }
  auto on(dim3 grid, dim3 block, std::size_t shared = 0, hipStream_t stream = nullptr) const {
    return TypedCallWithShape<KernelWithAddress, Parameters...>{
        {*this, {grid, block, shared, stream}}};
  }
};

// The address that a name stands for. The type of `later` is a template's parameter, so that
// kernel_of() can test whether the name is overloaded.
template <typename... Parameters>
struct Address {
  void (*kernel)(Parameters...);
  template <typename Call>
  KernelWithAddress<Call, Parameters...> with(CalledKernel<Call> called) const {
    return {std::move(called), kernel};
  }
};
template <typename... Parameters>
inline Address<Parameters...> address_of(int later, void (*kernel)(Parameters...)) {
  static_cast<void>(later);
  return {kernel};
}

template <typename Find, typename Call>
inline auto kernel_of(const char* name, const Find& find, Call call) {
  static_cast<void>(find);
  const CalledKernel<Call> called{name, std::move(call)};
  if constexpr (std::is_invocable<const Find&, int>::value) {
    return find(0).with(called);
  } else {
    return called;
  }
}

template <typename... Parameters, std::size_t... i>
inline std::tuple<Parameters...> arguments_at(void** addresses, std::index_sequence<i...>) {
  static_cast<void>(addresses);  // not used by a kernel without parameters
  return std::tuple<Parameters...>(*static_cast<std::remove_cv_t<Parameters>*>(addresses[i])...);
}
template <typename... Parameters>
inline BoundKernel bind_by_address(void (*kernel)(Parameters...), void** addresses) {
  return bind_arguments(
      "a kernel launched by its address", kernel,
      arguments_at<Parameters...>(addresses, std::index_sequence_for<Parameters...>()));
}

// Binds arguments to a kernel whose address has lost its type by a cast to void*.
using BindByAddress = BoundKernel (*)(const void* kernel, void** arguments);
void note_kernel(const void* kernel, BindByAddress bind);
// Prints a line and returns a null kernel if no type was noted for this address.
BoundKernel bind_by_address(const void* kernel, void** arguments);

template <typename... Parameters>
inline void note_types(void (*kernel)(Parameters...)) {
  using Kernel = void (*)(Parameters...);
  note_kernel(reinterpret_cast<const void*>(kernel), [](const void* noted, void** arguments) {
    return bind_by_address(reinterpret_cast<Kernel>(const_cast<void*>(noted)), arguments);
  });
}
template <typename Other>
constexpr void note_types(const Other&) {}

// oshhip turns (const void*)kernel and similar casts into a call of this.
template <typename Pointer, typename From>
constexpr std::remove_const_t<Pointer> noted_cast(From&& from) {
  if constexpr (std::is_function<std::remove_pointer_t<std::decay_t<From>>>::value) {
    note_types(static_cast<std::decay_t<From>>(from));
  }
  return (Pointer)from;
}

}  // namespace hip_on_cpu
#pragma GCC visibility pop

// Does the same as kernel<<<grid, block, shared, stream>>>(arguments...). The kernel may be
// overloaded, or a template, with or without its arguments, and with or without parentheses around
// it.
#define hipLaunchKernelGGL(kernel, ...)                                                            \
  ::hip_on_cpu::kernel_of(                                                                         \
      #kernel,                                                                                     \
      [&](auto hip_on_cpu_later) -> decltype(::hip_on_cpu::address_of(hip_on_cpu_later, kernel)) { \
        return ::hip_on_cpu::address_of(hip_on_cpu_later, kernel);                                 \
      },                                                                                           \
      [&](const auto&... hip_on_cpu_each) -> decltype(static_cast<void>(                           \
                                              (kernel)(hip_on_cpu_each...))) {                     \
        (kernel)(hip_on_cpu_each...);                                                              \
      })(__VA_ARGS__)

// Launches a kernel by its address. The kernel's type, or the noted one, tells the types of the
// values at `arguments`.
inline hipError_t hipLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                  std::size_t shared = 0, hipStream_t stream = nullptr) {
  return hip_on_cpu::submit_kernel(hip_on_cpu::bind_by_address(kernel, arguments), grid, block,
                                   shared, stream);
}
template <typename... Parameters>
inline hipError_t hipLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                  void** arguments, std::size_t shared = 0,
                                  hipStream_t stream = nullptr) {
  return hip_on_cpu::submit_kernel(hip_on_cpu::bind_by_address(kernel, arguments), grid, block,
                                   shared, stream);
}

// All blocks of every launch can wait for each other, so no launch has too many for a cooperative
// one. The launch remembers that it is cooperative: kernels that count on it can tell that they
// were launched otherwise.
inline hipError_t hipLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block,
                                             void** arguments, unsigned shared = 0,
                                             hipStream_t stream = nullptr) {
  return hip_on_cpu::submit_kernel(hip_on_cpu::bind_by_address(kernel, arguments), grid, block,
                                   shared, stream, true);
}
template <typename... Parameters>
inline hipError_t hipLaunchCooperativeKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                             void** arguments, unsigned shared = 0,
                                             hipStream_t stream = nullptr) {
  return hip_on_cpu::submit_kernel(hip_on_cpu::bind_by_address(kernel, arguments), grid, block,
                                   shared, stream, true);
}

template <typename Kernel>
inline hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel*, int block_size,
                                                               std::size_t shared) {
  return hip_on_cpu::blocks_per_multiprocessor(blocks, block_size, shared);
}
