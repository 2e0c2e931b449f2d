// Kernels that sum products into one C, over configs drawn from their whole space: checked as the tuner
// checks them, with neighbouring shapes, gaps and NaN in memory that must not be read.
#include <gtest/gtest.h>

#include "support/isas.hpp"
#include "tune/gate.hpp"

namespace tilewright::testing {
namespace {

const char* const problems[] = {
    "gemm_stack:f64:nn:m=13,n=13,k=13:batch=7:run=3:beta=one",
    "gemm_stack:f64:tn:m=13,n=11,k=5:batch=7:run=3:alpha=general:beta=one",
    "gemm_stack:f32:nt:m=23,n=9,k=7:batch=7:run=20:beta=general",
    "gemm_stack:c64:cc:m=6,n=5,k=9:batch=7:run=3:beta=general",
    "gemm_stack:c128:nn:m=5,n=14,k=4:batch=7:run=2:beta=zero",
    "gemm_stack:f64:nn:m=33,n=26,k=17:batch=7:run=40:beta=general:residency=cold",
    "gemm_batch_reduce:f64:nn:m=9,n=20,k=6:strided:batch=7:beta=one",
    "gemm_batch_reduce:f32:tt:m=17,n=3,k=12:strided:batch=7:beta=general:residency=cold",
    "gemm_batch_reduce:f64:nt:m=8,n=8,k=8:pointer:batch=7:beta=zero:residency=cold",
};

TEST(GemmSmallSums, ConfigsOfTheWholeSpaceAreRight) {
  constexpr std::size_t configs = 25;
  for (const Isa isa : runnable_isas())
    for (const char* text : problems) {
      const GemmProblem p = parse_problem(text);
      const Gate gate(p, isa);
      const auto space = gemm_small_cpu_space(p, isa);
      std::mt19937_64 random(7);
      auto all = space.sample(configs, random);
      all.push_back(gemm_small_cpu_default(p, isa));
      for (const GemmSmallCpuConfig& config : all)
        EXPECT_EQ(gate.run(*make_gemm_small_cpu(p, config)), "") << text << ": " << describe(config);
    }
}

TEST(GemmSmallSums, TheRuleOfThumbIsLegal) {
  for (const Isa isa : runnable_isas())
    for (const char* text : problems)
      for (const std::int64_t size : {1, 4, 16, 30, 64}) {
        GemmProblem p = parse_problem(text);
        p.m = size, p.n = 64 - size + 1, p.lda = p.ldb = p.ldc = p.stride_a = p.stride_b = p.stride_c = 0;
        p = packed(p);
        // Code that would be too long gets no kernel, and products are formed one after the other.
        for (const std::string& reason : gemm_small_cpu_space(p, isa).explain(gemm_small_cpu_default(p, isa)))
          EXPECT_EQ(reason, "the code fits its buffer") << to_string(p);
      }
}

}  // namespace
}  // namespace tilewright::testing
