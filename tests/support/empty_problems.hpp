// Problems without a product to form: every layout and kind of sum with every size, count and factor 0, one
// at a time, and their operands. Their result is C = beta C, if C has elements.
#pragma once

#include <complex>
#include <string>
#include <vector>

#include "core/problem.hpp"

namespace tilewright::testing {

// Returns problems for all beta classes, or for beta general alone.
inline std::vector<GemmProblem> empty_problems(DType dtype, Location location) {
  struct Kind {
    const char* family;
    const char* rest;     // the text after the sizes
    const char* nothing;  // the same for a batch without a problem; null if the layout is not a batch
  };
  constexpr Kind kinds[] = {
      {"gemm", "", nullptr},
      {"gemm_batched", ":strided:batch=6", ":strided:batch=0"},
      {"gemm_batched", ":strided:batch=12:outer=2:outermost=3", ":strided:batch=0:outer=0:outermost=3"},
      {"gemm_batched", ":strided:batch=12:outer=2:outermost=3", ":strided:batch=0:outer=2:outermost=0"},
      {"gemm_batched", ":pointer:batch=6", ":pointer:batch=0"},
      {"gemm_batched", ":interleaved:batch=6", ":interleaved:batch=0"},
      {"gemm_batched", ":block_interleaved:batch=8:block=4", ":block_interleaved:batch=0:block=4"},
      {"gemm_batch_reduce", ":strided:batch=6", ":strided:batch=0"},
      {"gemm_batch_reduce", ":pointer:batch=6", ":pointer:batch=0"},
      {"gemm_stack", ":batch=6", ":batch=0"},
      {"gemm_stack", ":batch=6:run=3", ":batch=0:run=3"}};
  std::vector<GemmProblem> all;
  const auto add = [&](const Kind& kind, const char* sizes, const char* rest, const char* factors) {
    GemmProblem p = parse_problem(std::string(kind.family) + ":f64:nn:" + sizes + rest + factors);
    p.dtype = dtype, p.location = location;
    all.push_back(p);
  };
  for (const Kind& kind : kinds)
    for (const char* beta : {":beta=zero", ":beta=one", ":beta=general"}) {
      for (const char* sizes :
           {"m=0,n=3,k=4", "m=3,n=0,k=4", "m=3,n=4,k=0", "m=0,n=0,k=4", "m=0,n=0,k=0", "m=0,n=100,k=7",
            "m=100,n=0,k=70", "m=0,n=1,k=1", "m=1,n=1,k=0", "m=0,n=1,k=0"})
        add(kind, sizes, kind.rest, beta);
      for (const char* alpha : {":alpha=zero", ":alpha=general"})
        add(kind, "m=3,n=4,k=5", kind.rest, (std::string(alpha) + beta).c_str());
      if (kind.nothing == nullptr) continue;
      for (const char* sizes : {"m=3,n=4,k=5", "m=0,n=3,k=4", "m=3,n=4,k=0", "m=100,n=0,k=70"})
        add(kind, sizes, kind.nothing, beta);
    }
  return all;
}

// Returns the number of elements of C in memory: all of them belong to some C.
inline std::int64_t elements_of_c(const GemmProblem& p) { return p.m * p.n * count_of_c(p); }

template <class T>
T value_of(Scalar kind, T general) {
  return kind == Scalar::general ? general : T(kind == Scalar::one);
}

// The operands in host memory, or at the addresses that upload(data, bytes) returns.
template <class T>
struct EmptyOperands {
  explicit EmptyOperands(const GemmProblem& p)
      : problem(p), c(std::size_t(elements_of_c(p)), T(2)), read(std::size_t(4096), T(NAN)) {}

  T alpha() const { return value_of(problem.alpha, T(0)); }
  T beta() const { return value_of(problem.beta, T(3)); }
  // Returns the contents of C after the call.
  std::vector<T> expected() const { return std::vector<T>(c.size(), beta() * T(2)); }
  // For products given by addresses: those of A or B, and of the C that begins at `base`.
  std::vector<const T*> addresses_of_read(const T* base) const {
    return std::vector<const T*>(std::size_t(problem.batch_count), base);
  }
  std::vector<T*> addresses_of_c(T* base) const {
    std::vector<T*> all;
    const std::int64_t each = problem.sums == Sums::batch_reduce ? problem.batch_count + 1
                              : problem.sums == Sums::stack      ? problem.run
                                                                 : 1;
    for (std::int64_t i = 0; i < problem.batch_count; ++i)
      all.push_back(base + i / each * problem.m * problem.n);
    if (problem.sums == Sums::batch_reduce && all.empty()) all.push_back(base);
    return all;
  }

  GemmProblem problem;
  std::vector<T> c;
  std::vector<T> read;  // A and B, NaN everywhere
};

}  // namespace tilewright::testing
