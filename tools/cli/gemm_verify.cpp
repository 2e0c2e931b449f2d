// Implements gemm's --verify: chooses a scope, and reads the arrays by their own strides.
#include "gemm_verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "measure/check_sampled.hpp"

namespace tilewright::cli {

namespace {

// The scope of the check, all rows of some columns of some problems, and its name.
struct Scope {
  Sample sample;
  std::string text;
};

Scope choose_scope(const VerifyInput& in, std::int64_t k) {
  const double column_flops =
      (is_complex(in.dtype) ? 8.0 : 2.0) * double(in.c_shape.rows) * double(std::max<std::int64_t>(k, 1));
  const double problem_flops = column_flops * double(in.c_shape.cols);
  const std::int64_t batch = in.c_shape.batch, n = in.c_shape.cols;
  Scope scope;
  scope.sample.rows = places(in.c_shape.rows, in.c_shape.rows);
  const double problem_count = std::max(1.0, std::floor(in.flop_limit / std::max(problem_flops, 1.0)));
  scope.sample.problems = places(batch, std::int64_t(std::min(problem_count, double(batch))));
  const double share = in.flop_limit / double(std::max<std::size_t>(scope.sample.problems.size(), 1));
  const double column_count = std::max(1.0, std::floor(share / column_flops));
  scope.sample.columns = places(n, std::int64_t(std::min(column_count, double(n))));
  const auto chosen = static_cast<std::int64_t>(scope.sample.problems.size());
  scope.text = chosen == batch ? (batch == 1 ? "the whole product" : fmt::format("all {} problems", batch))
                               : fmt::format("a random {} of {} problems", chosen, batch);
  if (const auto columns = static_cast<std::int64_t>(scope.sample.columns.size()); columns < n)
    scope.text =
        fmt::format("a random {} of {} columns of {}", columns, n, batch == 1 ? "the product" : scope.text);
  return scope;
}

HostArray array_of(const void* data, const ArrayShape& shape) {
  const auto [batch, row, column] = shape.strides();
  return {{shape.rows, shape.cols, row, column, 1, shape.batch == 1 ? 0 : batch}, data};
}

std::string text(DType dtype, std::complex<double> value) {
  const auto number = [&](double x, const char* format) {
    const bool narrow = dtype == DType::f32 || dtype == DType::c64;
    return narrow ? fmt::format(fmt::runtime(format), float(x)) : fmt::format(fmt::runtime(format), x);
  };
  return number(value.real(), "{}") + (is_complex(dtype) ? number(value.imag(), "{:+}") + "j" : "");
}

}  // namespace

VerifyResult verify(const VerifyInput& in) {
  GemmProblem p;
  p.dtype = in.dtype, p.op_a = in.op_a, p.op_b = in.op_b;
  p.m = in.c_shape.rows, p.n = in.c_shape.cols;
  p.k = in.op_a == Op::none ? in.a_shape.cols : in.a_shape.rows;
  const auto operands = host_operands(p.dtype, array_of(in.a, in.a_shape), array_of(in.b, in.b_shape),
                                      array_of(in.c0, in.c0_shape), array_of(in.c, in.c_shape));
  const Scope scope = choose_scope(in, p.k);
  const auto beta = in.c0 == nullptr ? 0 : in.beta;
  const Accuracy worst = check_once(p, *operands, scope.sample, in.alpha, beta, in.threads);
  VerifyResult result{worst.passed(),  worst.error, worst.bound, worst.not_finite,
                      worst.unbounded, "",          scope.text};
  if (worst.problem_index < 0) return result;
  const std::string problem = in.c_shape.is_batch ? fmt::format("{}, ", worst.problem_index) : "";
  result.where = fmt::format("C[{}{}, {}] = {}, reference {}", problem, worst.row, worst.column,
                             text(in.dtype, worst.got), text(in.dtype, worst.exact));
  return result;
}

}  // namespace tilewright::cli
