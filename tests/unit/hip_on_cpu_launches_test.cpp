// SPDX-License-Identifier: Apache-2.0
// Launches on the cpu target: which kernels hipLaunchKernelGGL, hipLaunchKernel and the form that
// oshhip makes of <<<...>>> accept, and how they pass the kernels' arguments.
#include "hip_on_cpu.hpp"

namespace {

__global__ void write_value(int* to, int value) { *to = value; }

template <int kFactor, typename T>
__global__ void multiply(T* value, T by) {
  *value = kFactor * by;
}
template <typename T>
__global__ void tell_size(int* to, T) {
  *to = sizeof(T);
}
__global__ void choose(int* to, double value) { *to = static_cast<int>(value * 2); }
__global__ void choose(int* to, int value) { *to = value + 1; }
__global__ void choose(int* to) { *to = -1; }
template <typename T>
__global__ void choose(int* to, T* null) {
  *to = null == nullptr ? -2 : -3;
}
__global__ void write_default(int* to, int value = 8) { *to = value; }

// Returns what the launched kernel wrote into the first of two ints.
template <typename Launch>
int left_by(Launch launch) {
  const OnDevice<int> out(2);
  launch(out.get());
  return out.values()[0];
}

TEST(HipKernels, AreTemplatesThatTheArgumentsComplete) {
  const auto half_given = [](int* to) { hipLaunchKernelGGL(multiply<4>, 1, 1, 0, nullptr, to, 5); };
  EXPECT_EQ(left_by(half_given), 20);
  const auto not_given = [](int* to) { hipLaunchKernelGGL(tell_size, 1, 1, 0, nullptr, to, 1.5); };
  EXPECT_EQ(left_by(not_given), 8);
  const auto in_parentheses = [](int* to) {
    hipLaunchKernelGGL((tell_size), 1, 1, 0, nullptr, to, 'a');
  };
  EXPECT_EQ(left_by(in_parentheses), 1);
}

TEST(HipKernels, AreOverloadsThatTheArgumentsChoose) {
  EXPECT_EQ(left_by([](int* to) { hipLaunchKernelGGL(choose, 1, 1, 0, nullptr, to, 1.5); }), 3);
  EXPECT_EQ(left_by([](int* to) { hipLaunchKernelGGL(choose, 1, 1, 0, nullptr, to, 6); }), 7);
  EXPECT_EQ(left_by([](int* to) { hipLaunchKernelGGL(choose, 1, 1, 0, nullptr, to); }), -1);
  EXPECT_EQ(left_by([](int* to) { hipLaunchKernelGGL(choose, 1, 1, 0, nullptr, to, to); }), -3);
}

// An argument is converted before the launch: the object that it comes from is gone when the kernel
// runs.
struct Number {
  explicit Number(int number) : value(number) {}
  Number(const Number&) = delete;
  ~Number() { value = 0; }
  operator int() const { return value; }  // NOLINT(google-explicit-constructor)
  int value;
};

TEST(HipKernels, TakeArgumentsAsACallDoes) {
  const auto by_default = [](int* to) { hipLaunchKernelGGL(write_default, 1, 1, 0, nullptr, to); };
  EXPECT_EQ(left_by(by_default), 8);
  const auto converted = [](int* to) {
    hipLaunchKernelGGL(write_value, 1, 1, 0, nullptr, to, Number(12));
  };
  EXPECT_EQ(left_by(converted), 12);
  void (*const pointer)(int*, int) = write_value;
  const auto by_pointer = [pointer](int* to) {
    hipLaunchKernelGGL(pointer, 1, 1, 0, nullptr, to, {});
  };
  EXPECT_EQ(left_by(by_pointer), 0);
}

// Launches by a void*. oshhip turns the program's cast to void* into noted_cast(), which also
// records the kernel's parameters.
TEST(HipKernels, AreLaunchedByAddressesThatWereNoted) {
  const void* const kernels[] = {hip_on_cpu::noted_cast<const void*>(write_value),
                                 hip_on_cpu::noted_cast<void*>(&multiply<3, int>)};
  EXPECT_EQ(kernels[0], reinterpret_cast<const void*>(&write_value));
  std::vector<int> left;
  for (const void* kernel : kernels) {
    left.push_back(left_by([&](int* to) {
      int value = 5;
      void* arguments[] = {&to, &value};
      EXPECT_HIP(hipLaunchKernel(kernel, dim3(1), dim3(1), arguments, 0, nullptr));
    }));
    left.push_back(left_by([&](int* to) {
      int value = 6;
      void* arguments[] = {&to, &value};
      EXPECT_HIP(hipLaunchCooperativeKernel(kernel, dim3(1), dim3(1), arguments, 0, nullptr));
    }));
  }
  EXPECT_EQ(left, (std::vector<int>{5, 6, 15, 18}));
}

TEST(HipKernels, AreRefusedByAddressesThatWereNot) {
  int value = 0;
  const void* const kernel = hip_on_cpu::noted_cast<const void*>(&value);
  EXPECT_EQ(kernel, &value);
  testing::internal::CaptureStderr();
  EXPECT_EQ(hipLaunchKernel(kernel, dim3(1), dim3(1), nullptr, 0, nullptr),
            hipErrorInvalidDeviceFunction);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("nothing tells the parameters"),
            std::string::npos);
  EXPECT_EQ(hipLaunchKernel(nullptr, dim3(1), dim3(1), nullptr, 0, nullptr),
            hipErrorInvalidDeviceFunction);
  EXPECT_EQ(hipLaunchKernel(NULL, dim3(1), dim3(1), nullptr, 0, nullptr),
            hipErrorInvalidDeviceFunction);
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidDeviceFunction);
}

// Launches in the form that oshhip makes of kernel<<<grid, block, shared, stream>>>. Here too,
// `shared` and `stream` are optional.
TEST(HipKernels, AreLaunchedOnAShape) {
  const auto kernel = hip_on_cpu::kernel_of(
      "write_value", [](auto later) { return hip_on_cpu::address_of(later, write_value); },
      [](int* to, int value) { write_value(to, value); });
  const OwnStream stream;
  EXPECT_EQ(left_by([&](int* to) { kernel.on(1, 1)(to, 5); }), 5);
  EXPECT_EQ(left_by([&](int* to) { kernel.on(1, 1, 16)(to, 'a'); }), 'a');
  EXPECT_EQ(left_by([&](int* to) {
              kernel.on(1, 1, 16, stream)(to, 7);
              EXPECT_HIP(hipStreamSynchronize(stream));
            }),
            7);
  kernel.on(1, 2000)(NULL, 7);
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidConfiguration);
}

}  // namespace
