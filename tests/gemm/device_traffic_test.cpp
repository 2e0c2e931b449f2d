// Bytes that batches in device memory must move, in whole sectors of 32 bytes.
#include <gtest/gtest.h>

#include "gemm/kept.hpp"

namespace tilewright {
namespace {

GpuTraffic traffic_of(const char* text) { return gpu_traffic(packed(parse_problem(text))); }

TEST(DeviceTraffic, PackedMatricesShareSectors) {
  // 256 matrices of 72 bytes without a gap fill 576 sectors.
  const GpuTraffic traffic =
      traffic_of("gemm_batched:f64:nn:m=3,n=3,k=3:strided:batch=256:beta=one:location=device");
  EXPECT_DOUBLE_EQ(traffic.mix.a_bytes, 256 * 72);
  EXPECT_TRUE(traffic.mix.reads_c);
  EXPECT_DOUBLE_EQ(traffic.bytes, 4 * 256 * 72);
}

TEST(DeviceTraffic, PaddedColumnsTakeTheSectorsThatTheyTouch) {
  // Columns of 4 doubles, 7 apart: the first touches 1 sector, those at 56, 112, 168 bytes touch 2 each, and
  // the batch repeats every 4 columns (224 bytes).
  const GpuTraffic traffic = traffic_of(
      "gemm_batched:f64:nn:m=4,n=4,k=4:lda=7:ldb=7:ldc=7:strided:batch=100:beta=zero:location=device");
  EXPECT_DOUBLE_EQ(traffic.mix.a_bytes, 100 * 7 * 32);
  EXPECT_DOUBLE_EQ(traffic.bytes, 3 * 100 * 7 * 32);
}

TEST(DeviceTraffic, MatricesInAnyOrderShareNone) {
  // 100 bytes take 4 sectors each, and three pointers per problem.
  const GpuTraffic traffic =
      traffic_of("gemm_batched:f32:nn:m=5,n=5,k=5:pointer:batch=10:beta=one:location=device");
  EXPECT_DOUBLE_EQ(traffic.mix.c_bytes, 10 * 128);
  EXPECT_DOUBLE_EQ(traffic.bytes, 4 * 10 * 128 + 3 * 8 * 10);
  EXPECT_EQ(gpu_pointer_distance(25, size_bytes(DType::f32)), 32);
  EXPECT_EQ(gpu_pointer_distance(25, size_bytes(DType::c128)), 26);
}

TEST(DeviceTraffic, BlocksAreMatricesOfLongRows) {
  // Blocks of 8 problems of 3x3 floats: 288 bytes, the last of three half full.
  const GpuTraffic traffic = traffic_of(
      "gemm_batched:f32:nn:m=3,n=3,k=3:block_interleaved:block=8:batch=20:beta=zero:location=device");
  EXPECT_DOUBLE_EQ(traffic.mix.a_bytes, 3 * 288);
}

TEST(DeviceTraffic, WhatStaysDoesNotStream) {
  GemmProblem p = packed(parse_problem("gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=100:location=device"));
  p.stride_a = 0;
  EXPECT_EQ(gpu_traffic(p).mix.a_bytes, 0);
  EXPECT_GT(gpu_traffic(p).mix.b_bytes, 0);
}

TEST(DeviceTraffic, MixesKeepTheirProportions) {
  const GpuStreamMix mix = GpuStreamMix{1, 2, 4, true}.as_long_as(400);
  EXPECT_DOUBLE_EQ(mix.a_bytes, 100);
  EXPECT_DOUBLE_EQ(mix.c_bytes, 400);
  EXPECT_TRUE(mix.reads_c);
}

}  // namespace
}  // namespace tilewright
