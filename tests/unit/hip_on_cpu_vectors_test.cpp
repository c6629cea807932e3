// SPDX-License-Identifier: Apache-2.0
// HIP on CPUs: vectors of numbers, in kernels and on the host, and bfloat16 by its second name.
#include <hip/hip_bf16.h>
#include <hip/hip_bfloat16.h>
#include <hip/hip_vector_types.h>
#include <hip/math_functions.h>

#include <type_traits>

#include "hip_on_cpu.hpp"

namespace {

// As AMD's compiler lays them out; structures that programs share with files depend on it.
template <typename One, typename Two, typename Three, typename Four>
constexpr bool has_hips_layout() {
  using T = typename One::value_type;
  return sizeof(One) == sizeof(T) && alignof(One) == sizeof(T) && sizeof(Two) == 2 * sizeof(T) &&
         alignof(Two) == 2 * sizeof(T) && sizeof(Three) == 3 * sizeof(T) &&
         alignof(Three) == alignof(T) && sizeof(Four) == 4 * sizeof(T) &&
         alignof(Four) == 4 * sizeof(T) && std::is_trivially_copyable<Four>::value &&
         std::is_trivially_default_constructible<Four>::value;
}
#define EXPECT_LAYOUT(name) \
  EXPECT_TRUE((has_hips_layout<name##1, name##2, name##3, name##4>())) << #name

TEST(HipVectors, LieInMemoryAsOnGpus) {
  EXPECT_LAYOUT(char);
  EXPECT_LAYOUT(uchar);
  EXPECT_LAYOUT(short);
  EXPECT_LAYOUT(ushort);
  EXPECT_LAYOUT(int);
  EXPECT_LAYOUT(uint);
  EXPECT_LAYOUT(long);
  EXPECT_LAYOUT(ulong);
  EXPECT_LAYOUT(longlong);
  EXPECT_LAYOUT(ulonglong);
  EXPECT_LAYOUT(float);
  EXPECT_LAYOUT(double);
}

TEST(HipVectors, AreMadeOfTheirNumbers) {
  const float4 four = make_float4(1, 2, 3, 4);
  EXPECT_EQ(four.x + 10 * four.y + 100 * four.z + 1000 * four.w, 4321.0f);
  EXPECT_EQ(four[2], 3.0f);
  const float4 braced = {1, 2.0, 3u, 4.0f};  // of any types
  EXPECT_EQ(braced, four);
  EXPECT_EQ(int3(7), make_int3(7, 7, 7));
  EXPECT_EQ(uchar1(255).x, 255);
  const longlong2 zero{};
  EXPECT_EQ(zero, make_longlong2(0, 0));
  static_assert(make_double2(1, 2).y == 2);
}

TEST(HipVectors, ComputeWithEachNumber) {
  const int4 a{7, -8, 9, 1 << 30}, b{2, 3, 4, 5};
  EXPECT_EQ(a + b, make_int4(9, -5, 13, (1 << 30) + 5));
  EXPECT_EQ(a - b, make_int4(5, -11, 5, (1 << 30) - 5));
  EXPECT_EQ(a / b, make_int4(3, -2, 2, (1 << 30) / 5));
  EXPECT_EQ(a % b, make_int4(1, -2, 1, (1 << 30) % 5));
  EXPECT_EQ(b * b, make_int4(4, 9, 16, 25));
  EXPECT_EQ((b & 1) | (b << 4) | (b ^ b), make_int4(32, 49, 64, 81));
  EXPECT_EQ(~(b >> 1), make_int4(-2, -2, -3, -3));
  EXPECT_EQ(-a, make_int4(-7, 8, -9, -(1 << 30)));
  EXPECT_EQ(2 * b - 1, make_int4(3, 5, 7, 9));
  int4 c = b;
  c += a;
  c -= 1;
  EXPECT_EQ(c++, make_int4(8, -6, 12, (1 << 30) + 4));
  EXPECT_EQ(--c, make_int4(8, -6, 12, (1 << 30) + 4));
  EXPECT_NE(c, b);
  EXPECT_EQ(make_uchar2(200, 3) + 100, make_uchar2(44, 103));  // modulo 256
  EXPECT_EQ(0.5f * make_float3(1, 2, 3), make_float3(0.5f, 1, 1.5f));
  EXPECT_EQ(1 / make_double2(2, 4), make_double2(0.5, 0.25));
}

TEST(HipVectors, DifferInAnyNumber) {
  for (unsigned i = 0; i < 4; ++i) {
    ulonglong4 a{1, 2, 3, 4};
    const ulonglong4 b = a;
    a[i] ^= 1ull << 63;
    EXPECT_TRUE(a != b) << i;
    EXPECT_FALSE(a == b) << i;
  }
}

__global__ void scale(float4* values, float2 factors) {
  __shared__ float4 shared[2];
  shared[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  values[threadIdx.x] = shared[1 - threadIdx.x] * factors.x + factors.y;
}

TEST(HipVectors, PassThroughKernels) {
  const OnDevice<float4> values(2);
  const float4 before[] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
  ASSERT_HIP(hipMemcpy(values.get(), before, sizeof before, hipMemcpyHostToDevice));
  hipLaunchKernelGGL(scale, 1, 2, 0, nullptr, values.get(), make_float2(2, 0.5f));
  EXPECT_EQ(values.values(), (std::vector<float4>{{10.5, 12.5, 14.5, 16.5}, {2.5, 4.5, 6.5, 8.5}}));
}

TEST(HipBfloat16, HasASecondName) {
  const __hip_bfloat16 third = __float2bfloat16(1.0f / 3);
  EXPECT_EQ(sizeof third, 2u);
  EXPECT_EQ(__bfloat162float(third), 0.333984375f);
  EXPECT_EQ(third + third, 0.66796875f);
  EXPECT_EQ(hip_bfloat16(third), 0.333984375f);
}

}  // namespace
