// The check of small batches: the library's reference passes in every layout, and each mistake a kernel can
// make is seen and named. Batches of variable sizes and bad problems are checked by the stencils' emulation.
#include "measure/check_small.hpp"

#include <gtest/gtest.h>

#include "gemm/run/reference.hpp"
#include "support/cases.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t batch_count = 7;

SmallCase case_of(DType dtype, Layout layout, Scalar beta, std::int64_t gap = 0) {
  SmallCase one;
  one.problem = cases::strided(dtype, {5, 3, 4}, beta, batch_count);
  GemmProblem& p = one.problem;
  p.layout = layout;
  p.lda += gap, p.ldb += gap, p.ldc += gap;
  p.stride_a = p.stride_b = p.stride_c = 0;
  p.block = layout == Layout::interleaved ? batch_count : layout == Layout::block_interleaved ? 4 : 0;
  p = packed(p);
  return one;
}

// What is said of the reference after `flaw` was put over its result.
template <class F>
std::string said(const SmallCase& one, F&& flaw) {
  const SmallCheck check(one, batch_count);
  return check
      .run(HostMemory(),
           [&](const Operands& o) {
             gemm_reference(one.problem, o);
             flaw(o);
           })
      .fault;
}

TEST(SmallCheck, AcceptsTheReferenceInEveryLayout) {
  for (const DType dtype : cases::dtypes)
    for (const Layout layout :
         {Layout::strided, Layout::pointer, Layout::interleaved, Layout::block_interleaved})
      for (const Scalar beta : {Scalar::zero, Scalar::one, Scalar::general}) {
        SmallCase one = case_of(dtype, layout, beta, 2);
        EXPECT_EQ(said(one, [](const Operands&) {}), "");
        one.problem.alpha = Scalar::zero;
        one.any_alignment = true;
        EXPECT_EQ(said(one, [](const Operands&) {}), "") << "A and B are NaN";
      }
}

TEST(SmallCheck, SeesWrongElementsAndWritesOutsideC) {
  const SmallCase one = case_of(DType::f64, Layout::strided, Scalar::zero, 2);
  const auto at = [](const Operands& o, std::int64_t element) -> double& {
    return static_cast<double*>(o.c)[element];
  };
  const GemmProblem& p = one.problem;
  const std::int64_t last = p.stride_c * 6 + p.ldc * 2 + 4;
  EXPECT_NE(said(one, [&](const Operands& o) { at(o, last) += 1e-12; })
                .find("problem 6 of 7, element (4, 2) is wrong"),
            std::string::npos);
  EXPECT_NE(said(one, [&](const Operands& o) { at(o, 0) = std::nan(""); }), "");
  for (const std::int64_t outside : {std::int64_t(-1), last + 1, p.m})
    EXPECT_NE(said(one, [&](const Operands& o) { at(o, outside) = 0; }).find("outside C"), std::string::npos)
        << outside;
}

// What lies in gaps and behind the matrices, and in C where beta = 0, shows where it is used.
TEST(SmallCheck, SeesWhatMustNotBeUsed) {
  const SmallCase one = case_of(DType::f32, Layout::strided, Scalar::zero, 2);
  const auto uses = [&](std::int64_t element) {
    return said(one, [&](const Operands& o) {
      static_cast<float*>(o.c)[0] += 0 * static_cast<const float*>(o.a)[element];
    });
  };
  EXPECT_EQ(uses(0), "");
  EXPECT_NE(uses(one.problem.m), "") << "a gap";
  EXPECT_NE(uses(-1), "") << "before A";
  EXPECT_NE(uses(one.problem.stride_a * batch_count), "") << "behind A";
  const SmallCheck check(one, batch_count);
  EXPECT_NE(check.run(HostMemory(), [](const Operands&) {}).fault, "") << "C as it was";
}

TEST(SmallCheck, UnusedMatricesOfABlockAreFree) {
  const SmallCase one = case_of(DType::c64, Layout::block_interleaved, Scalar::one, 1);
  const std::int64_t in_block = one.problem.ldc * one.problem.n * one.problem.block;
  const auto write = [&](std::int64_t element) {
    return said(one, [&](const Operands& o) { static_cast<std::complex<float>*>(o.c)[element] = 0; });
  };
  EXPECT_EQ(write(in_block + 3), "") << "the eighth of seven";
  EXPECT_NE(write(in_block + 2), "") << "the seventh";
}

}  // namespace
}  // namespace tilewright
