// Uses every part of the C++ surface that needs the library, so that a symbol missing from its export map
// fails to link. It checks a few numbers, that errors arrive across the library's boundary, and is not a test
// of the arithmetic.
#include <complex>
#include <cstdio>
#include <tilewright/allocate.hpp>
#include <tilewright/device_layout.hpp>
#include <tilewright/gemm.hpp>
#include <tilewright/layout.hpp>
#include <tilewright/lu.hpp>
#include <tilewright/multinode.hpp>
#include <vector>

namespace tw = tilewright;

// There and back, by each kind of batch; on a machine without a GPU the device's own say so.
template <class T>
bool converts(tw::Context& context) {
  const std::int64_t n = 3, count = 5, block = tw::recommended_block(tw::dtype_of<T>);
  std::vector<T> from, to(n * n * count), slots(std::size_t(tw::interleaved_elements(n, n, n, block, count)));
  for (std::int64_t i = 0; i < n * n * count; ++i) from.push_back(T(float(i)));
  const tw::InterleavedBatch<T> blocks{slots.data(), n, n, n, block, count};
  std::vector<T*> pointers;
  for (std::int64_t p = 0; p < count; ++p) pointers.push_back(to.data() + p * n * n);
  const tw::PointerBatch<T> scattered{pointers.data(), n, n, n, count};
  const tw::StridedBatch<T> strided{{to.data(), n, n, n}, n * n, count};
  tw::interleave<T>(tw::StridedBatch<T>{{from.data(), n, n, n}, n * n, count}, blocks);
  tw::deinterleave<T>(blocks, scattered);
  bool right = from == to;
  tw::interleave<T>(scattered, blocks);
  tw::deinterleave<T>(blocks, strided);
  right = right && from == to;
  constexpr auto device = tw::Location::device;
  try {
    const tw::StridedBatch<T, device> none{{nullptr, n, n, n}, n * n, 0};
    const tw::PointerBatch<T, device> no_pointers{nullptr, n, n, n, 0};
    const tw::InterleavedBatch<T, device> no_blocks{nullptr, n, n, n, block, 0};
    tw::interleave<T>(context, none, no_blocks);
    tw::interleave<T>(context, no_pointers, no_blocks);
    tw::deinterleave<T>(context, no_blocks, none);
    tw::deinterleave<T>(context, no_blocks, no_pointers);
    tw::prepare_layout(context, tw::dtype_of<T>, n, n);
  } catch (const tw::Error& error) {
    right = right && error.code() == tw::ErrorCode::unsupported;
  }
  return right;
}

template <class T>
bool multiplies(tw::Context& context) {
  const std::int64_t n = 4, count = 10;
  std::vector<T> a(n * n * count, T(1)), b(n * n * count, T(2)), c(n * n * count, T(-1));
  const auto batch = [&](std::vector<T>& x) {
    return tw::StridedBatch<T>{{x.data(), n, n, n}, n * n, count};
  };
  std::vector<T*> pointers_a, pointers_b, pointers_c;
  for (std::int64_t p = 0; p < count; ++p) {
    pointers_a.push_back(a.data() + p * n * n);
    pointers_b.push_back(b.data() + p * n * n);
    pointers_c.push_back(c.data() + p * n * n);
  }
  const auto scattered = [&](std::vector<T*>& x) { return tw::PointerBatch<T>{x.data(), n, n, n, count}; };
  const auto matrix = [&](std::vector<T>& x) { return tw::MatrixView<T>{x.data(), n, n, n}; };
  const auto interleaved = [&](std::vector<T>& x) {
    return tw::InterleavedBatch<T>{x.data(), n, n, n, count, count};
  };
  const auto none = tw::Op::none;
  bool right = true;
  const auto all = [&](double value) {
    for (const T& x : c) right = right && x == T(value);
  };

  tw::gemm_batched(context, none, none, T(1), batch(a), batch(b), T(0), batch(c));
  all(8);
  tw::gemm_batched(context, none, none, T(1), scattered(pointers_a), scattered(pointers_b), T(1),
                   scattered(pointers_c));
  all(16);
  tw::gemm_batched(context, none, none, T(1), interleaved(a), interleaved(b), T(0), interleaved(c));
  all(8);
  tw::gemm(context, none, tw::Op::trans, T(2), matrix(a), matrix(b), T(0), matrix(c));
  right = right && c[0] == T(16);

  std::vector<const T*> constant_a(pointers_a.begin(), pointers_a.end());
  std::vector<const T*> constant_b(pointers_b.begin(), pointers_b.end());
  const tw::GemmGroup<T> group{
      none, none, n, n, n, T(1), constant_a.data(), n, constant_b.data(), n, T(0), pointers_c.data(),
      n,    count};
  tw::gemm_grouped<T>(context, {&group, 1});
  all(8);
  const tw::GemmItem<T> item{none, none, n, n, n, T(1), a.data(), n, b.data(), n, T(1), c.data(), n};
  tw::gemm_variable<T>(context, {&item, 1});
  right = right && c[0] == T(16);

  tw::GemmProblem problem;
  problem.dtype = tw::dtype_of<T>;
  problem.m = problem.n = problem.k = n;
  problem.layout = tw::Layout::strided;
  problem.batch_count = count;
  const tw::GemmPlan plan = tw::plan(context, tw::packed(problem));
  plan.run<T>(T(1), a.data(), b.data(), T(0), c.data());
  all(8);
  return right && !plan.explain().empty() && !plan.candidate().empty() && plan.problem().n == n &&
         tw::parse_problem(tw::to_string(plan.problem())) == plan.problem() && tw::flops(problem) > 0 &&
         tw::bytes(problem) > 0 && !tw::explain(context, plan.problem()).empty();
}

// Factors, solves, inverts and refines; on a machine without a GPU the plans of matrices there say so.
template <class T>
bool factors(tw::Context& context) {
  const std::int64_t n = 2;
  const std::vector<T> a{T(1), T(4), T(2), T(3)}, b{T(5), T(10)};
  std::vector<T> lu = a, x = b;
  std::vector<std::int64_t> pivots(n);
  bool right = tw::lu_factor(context, tw::column_major(lu.data(), n, n), pivots).info == 0;
  const auto factors = tw::column_major<tw::Location::host>(lu.data(), n, n);
  tw::lu_solve(context, tw::Op::none, factors, pivots, tw::column_major(x.data(), n, 1));
  right = right && tw::lu_refine(context, tw::Op::none, tw::column_major(a.data(), n, n), factors, pivots,
                                 tw::column_major(b.data(), n, 1), tw::column_major(x.data(), n, 1))
                           .backward_error < 1e-5;
  right = right && tw::lu_inverse(context, factors, pivots).info == 0;
  try {
    const tw::LuTeam alone{1, 0, {}};
    if (tw::why_not_cyclic(context, tw::dtype_of<T>, n, n, n, alone).empty())
      right = right && tw::lu_factor_cyclic(context, n, n, n, lu.data(), n, pivots.data(), alone).info == 0;
    else
      (void)tw::lu_factor_cyclic(context, n, n, n, lu.data(), n, pivots.data(), alone), right = false;
  } catch (const tw::Error& error) {
    right = right && error.code() == tw::ErrorCode::unsupported;
  }
  const tw::LuProblem problem = tw::parse_lu_problem("lu:f64:m=2,n=2");
  right = right && tw::to_string(problem) == "lu:f64:m=2,n=2" && tw::flops(problem) > 0 &&
          !tw::explain_lu(context, problem).empty();
  try {
    tw::LuProblem there = problem;
    there.dtype = tw::dtype_of<T>, there.location = tw::Location::device;
    const tw::LuPlan plan = tw::plan_lu(context, there);
    const tw::LuSolvePlan system = tw::plan_lu_solve(context, plan.problem(), tw::Op::none, 1, n);
    const tw::LuInversePlan inverse = tw::plan_lu_inverse(context, plan.problem(), n);
    right = right && !plan.explain().empty() && plan.workspace_bytes() + system.workspace_bytes() > 0 &&
            inverse.workspace_bytes() > 0;
    const tw::LuRefinePlan refine = tw::plan_lu_refine(context, plan.problem(), tw::Op::none, 1, {n, n, n});
    right = right && refine.workspace_bytes() > 0;
    plan.factor<T>(nullptr, nullptr, nullptr, {});
    system.solve<T>(nullptr, nullptr, nullptr, {});
    inverse.invert<T>(nullptr, nullptr, nullptr, {});
    refine.refine<T>(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, {});
    return false;
  } catch (const tw::Error& error) {
    right = right && error.code() != tw::ErrorCode::internal;
  }
  return right;
}

// What a program on several GPUs calls; here is no communicator, which is refused wherever it is asked for.
template <class T>
bool distributes() {
  if (tw::local_extent(10, 4, 1, 0, 2) != 4 || tw::distributed_gemm_status().empty()) return false;
  try {
    tw::DistributedGemm first(nullptr, {});
    tw::DistributedGemm member(std::move(first));
    const tw::DistributedMatrix<T> x{nullptr, member.row(), member.col(), member.device()};
    member.gemm<T>(tw::Op::none, tw::Op::none, T(1), x, x, T(0), x, nullptr);
    return member.library().empty();
  } catch (const tw::Error& error) {
    return error.code() == tw::ErrorCode::unsupported;
  }
}

int main() {
  const tw::BatchBuffer buffer = tw::allocate_batch(64, 100, tw::Placement::first_touch);
  if (buffer.bytes() < 6400) return 1;
  tw::Context first;
  tw::Context context = std::move(first);
  if (context.gpu_count() < 0 || tw::lu_candidate(context, {tw::DType::f64, 9, 9, 9}).empty()) return 1;
  if (!multiplies<float>(context) || !multiplies<double>(context) ||
      !multiplies<std::complex<float>>(context) || !multiplies<std::complex<double>>(context) ||
      !factors<float>(context) || !factors<double>(context) || !factors<std::complex<float>>(context) ||
      !factors<std::complex<double>>(context) || !distributes<float>() || !distributes<double>() ||
      !distributes<std::complex<float>>() || !distributes<std::complex<double>>()) {
    std::puts("wrong result");
    return 1;
  }
  try {
    tw::gemm<double>(context, tw::Op::none, tw::Op::none, 1, {nullptr, 2, 2, 2}, {nullptr, 2, 2, 2}, 0,
                     {nullptr, 2, 2, 2});
  } catch (const tw::Error& error) {
    std::printf("ok; a bad call says: %s\n", error.what());
    return 0;
  }
  std::puts("null matrices were not refused");
  return 1;
}
