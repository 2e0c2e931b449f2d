// What is measured, and what is drawn for checks.
#include "gemm_small_cases.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace tilewright::bench {
namespace {

struct Sizes {
  int m, n, k;
};

GemmProblem problem_of(DType dtype, Layout layout, const Sizes& s, int beta, Op a = Op::none,
                       Op b = Op::none) {
  GemmProblem p;
  p.dtype = dtype;
  p.m = s.m;
  p.n = s.n;
  p.k = s.k;
  p.op_a = a;
  p.op_b = b;
  p.layout = layout;
  p.beta = beta == 0 ? Scalar::zero : Scalar::one;
  p.residency = Residency::cold;
  p.location = Location::device;
  return p;
}

// As many problems as fit the bytes, with their strides.
SmallCase filled(GemmProblem p, std::size_t bytes) {
  p.batch_count = 1;
  const std::int64_t largest = std::max({p.a_rows() * p.a_cols(), p.b_rows() * p.b_cols(), p.m * p.n}) *
                               std::int64_t(size_bytes(p.dtype));
  p.batch_count = std::max<std::int64_t>(1, std::int64_t(bytes) / largest);
  const bool strided = p.layout == Layout::strided;
  p = packed(p);
  if (!strided) p.stride_a = p.stride_b = p.stride_c = 0;
  SmallCase one;
  one.problem = p;
  return one;
}

// The largest block whose tile of 8 KiB holds it: blocks of one sector at least.
std::int64_t block_for(DType dtype, int n) {
  const std::int64_t bytes = std::int64_t(size_bytes(dtype));
  std::int64_t block = std::max<std::int64_t>(1, 32 / bytes);
  while (block < 32 && 2 * block * n * n * bytes <= 16384) block *= 2;
  return block;
}

// Sizes in the order of measuring: of pointer batches first those that tell most, in case time runs out.
// Matrices below and above what a bulk copy is worth, whole pieces and ends, and each as large as it gets.
std::vector<std::vector<int>> parts_of(const std::string& group, const CaseOptions& o) {
  std::vector<std::vector<int>> parts(2);
  const int telling[] = {7, 16, 4, 31, 12, 8, 15, 25};
  if (group == "pointer") std::copy(std::begin(telling), std::end(telling), std::back_inserter(parts[0]));
  const auto has = [](const std::vector<int>& list, int n) {
    return std::find(list.begin(), list.end(), n) != list.end();
  };
  std::erase_if(parts[0], [&](int n) { return !has(o.sizes, n); });
  for (const int n : o.sizes)
    if (!has(parts[0], n)) parts[1].push_back(n);
  return parts;
}

void squares(std::vector<NamedCase>& list, const std::string& group, const CaseOptions& o) {
  const auto each = [&](auto&& make) {
    for (const int beta : o.betas)
      for (const auto& part : parts_of(group, o))
        for (const DType dtype : o.dtypes)
          for (const int n : part) list.push_back({group, make(dtype, n, beta)});
  };
  if (group == "strided" || group == "large")
    each([&](DType dtype, int n, int beta) {
      return filled(problem_of(dtype, Layout::strided, {n, n, n}, beta), o.bytes);
    });
  if (group == "scalars")
    each([&](DType dtype, int n, int beta) {
      SmallCase one = filled(problem_of(dtype, Layout::strided, {n, n, n}, beta), o.bytes);
      one.scalars_vary = true;
      one.problem.alpha = one.problem.beta = Scalar::general;
      return one;
    });
  if (group == "pointer")
    each([&](DType dtype, int n, int beta) {
      return filled(problem_of(dtype, Layout::pointer, {n, n, n}, beta), o.bytes / 2);
    });
  if (group == "interleaved")
    each([&](DType dtype, int n, int beta) {
      GemmProblem p = problem_of(dtype, Layout::block_interleaved, {n, n, n}, beta);
      p.block = block_for(dtype, n);
      SmallCase one = filled(p, o.bytes);
      one.problem.batch_count -= one.problem.batch_count % p.block;
      return one;
    });
  if (group == "padded")
    each([&](DType dtype, int n, int beta) {
      SmallCase one = filled(problem_of(dtype, Layout::strided, {n, n, n}, beta), o.bytes / 2);
      GemmProblem& p = one.problem;
      p.lda = p.ldb = p.ldc = n + 3;
      p.stride_a = p.stride_b = p.stride_c = (n + 3) * n;
      p.batch_count = std::int64_t(o.bytes) / (p.stride_a * std::int64_t(size_bytes(dtype)));
      return one;
    });
}

void others(std::vector<NamedCase>& list, const std::string& group, const CaseOptions& o) {
  for (const int beta : o.betas)
    for (const DType dtype : o.dtypes) {
      if (group == "rectangular")
        for (const Sizes& s : {Sizes{5, 13, 23}, Sizes{4, 4, 64}, Sizes{10, 10, 35}, Sizes{13, 13, 26},
                               Sizes{24, 8, 3}, Sizes{32, 32, 8}, Sizes{8, 32, 32}})
          list.push_back({group, filled(problem_of(dtype, Layout::strided, s, beta), o.bytes)});
      if (group == "transposed")
        for (const int n : {4, 7, 8, 13, 16, 24, 31, 32})
          for (const auto& [a, b] : {std::pair{Op::none, Op::trans}, std::pair{Op::trans, Op::none},
                                     std::pair{Op::trans, Op::trans}})
            list.push_back(
                {group, filled(problem_of(dtype, Layout::strided, {n, n, n}, beta, a, b), o.bytes)});
      if (group == "variable")
        for (const bool square : {true, false}) {
          // The mean of n * n over 4..32 is 394.
          SmallCase one = filled(problem_of(dtype, Layout::variable, {32, 32, 32}, beta), o.bytes / 2);
          one.problem.batch_count = std::int64_t(o.bytes / 2) / (400 * std::int64_t(size_bytes(dtype)));
          one.problem.lda = one.problem.ldb = one.problem.ldc = 0;
          one.smallest = 4;
          one.square = square;
          list.push_back({group, one});
        }
      if (group == "few")
        for (const int n : {4, 8, 16, 32, 64})
          for (const int count : {1, 10, 100, 1000}) {
            SmallCase one = filled(problem_of(dtype, Layout::strided, {n, n, n}, beta), o.bytes);
            one.problem.batch_count = count;
            list.push_back({group, one});
          }
    }
}

}  // namespace

std::vector<NamedCase> cases_of(const std::string& group, const CaseOptions& options) {
  CaseOptions o = options;
  if (group == "large") {
    o.sizes.resize(32);
    std::iota(o.sizes.begin(), o.sizes.end(), 33);
  }
  std::vector<NamedCase> list;
  squares(list, group, o);
  others(list, group, o);
  if (list.empty())
    throw Error(ErrorCode::invalid_argument, "--cases", "'" + group + "' is not a group of cases");
  return list;
}

SmallCase any_case(DType dtype, std::mt19937& random) {
  const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  const unsigned most = below(4) == 0 ? 64 : 12;
  const auto size = [&] { return 1 + below(most); };
  static constexpr Layout layouts[] = {Layout::strided,           Layout::strided,
                                       Layout::pointer,           Layout::variable,
                                       Layout::block_interleaved, Layout::block_interleaved};
  GemmProblem p = problem_of(dtype, layouts[below(6)], {size(), size(), size()}, 1, static_cast<Op>(below(3)),
                             static_cast<Op>(below(3)));
  p.alpha = below(8) == 0 ? Scalar::zero : below(2) == 0 ? Scalar::one : Scalar::general;
  p.beta = static_cast<Scalar>(below(3));
  SmallCase one = filled(p, 1);
  GemmProblem& q = one.problem;
  q.batch_count = 100000;
  const bool strided = q.layout == Layout::strided;
  if (below(3) == 0) {
    q.lda += below(4);
    q.ldb += below(4);
    q.ldc += below(4);
  }
  if (strided) {
    q.stride_a = q.lda * q.a_cols() + (below(4) == 0 ? below(9) : 0);
    q.stride_b = q.ldb * q.b_cols();
    q.stride_c = q.ldc * q.n + (below(4) == 0 ? below(9) : 0);
    if (below(5) == 0) q.stride_b = 0;
    if (below(6) == 0) q.stride_a = 0;
  }
  if (q.layout == Layout::block_interleaved) q.block = below(4) == 0 ? 64 * (1 + below(4)) : 1 + below(16);
  if (q.layout == Layout::variable) q.lda = q.ldb = q.ldc = 0;
  one.scalars_vary = below(4) == 0;
  if (one.scalars_vary) q.alpha = q.beta = Scalar::general;
  one.smallest = below(3);
  one.any_alignment = below(2) == 0;
  one.gaps = below(2) == 0;
  one.faults = below(2) == 0 && (q.layout == Layout::pointer || q.layout == Layout::variable);
  one.shift = below(3) == 0 && strided ? below(5) : 0;
  return one;
}

}  // namespace tilewright::bench
