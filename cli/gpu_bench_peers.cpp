// From names to calls.
#include "gpu_bench_peers.hpp"

#include <memory>

#include "core/dispatch.hpp"
#include "measure/typed_values.hpp"

namespace tilewright::cli {
namespace {

// alpha and beta outlive the calls.
template <class T>
struct Scalars {
  explicit Scalars(const BenchCase& c) : alpha(value_from<T>(c.alpha, 0)), beta(value_from<T>(c.beta, 0)) {}
  T alpha, beta;
};

// The matrices of a pointer batch lie at equal distances, so that they are a strided one as well.
GemmProblem as_strided(GemmProblem p) {
  if (p.layout != Layout::pointer) return p;
  p.stride_a = gpu_pointer_distance(p.lda * p.a_cols(), size_bytes(p.dtype));
  p.stride_b = gpu_pointer_distance(p.ldb * p.b_cols(), size_bytes(p.dtype));
  p.stride_c = gpu_pointer_distance(p.ldc * p.n, size_bytes(p.dtype));
  return p;
}

}  // namespace

std::function<void(std::int64_t)> gpu_peer(const std::string& name, GpuBlas& library, const BenchCase& c,
                                           GpuCase& operands) {
  if (const std::string why = GpuBlas::why_not(c.problem); !why.empty())
    throw Error(ErrorCode::unsupported, "--peers", why);
  return dispatch(c.problem.dtype, [&]<class T>() -> std::function<void(std::int64_t)> {
    const auto scalars = std::make_shared<const Scalars<T>>(c);
    const GemmProblem p = as_strided(c.problem);
    const auto call = [scalars, p](Operands o) {
      o.alpha = &scalars->alpha, o.beta = &scalars->beta;
      return GpuBlas::batch_of(p, o);
    };
    GpuBlas* const blas = &library;
    GpuCase* const at = &operands;
    if (name == "cublas" && p.layout == Layout::single)
      return [=](std::int64_t index) { blas->gemm(call(at->in_place(index))); };
    if (name == "cublas" || name == "cublas_strided")
      return [=](std::int64_t index) { blas->gemm_strided(call(at->in_place(index))); };
    if (name == "cublas_pointer")
      return [=](std::int64_t index) { blas->gemm_pointers(call(at->pointers_to(index))); };
    return [=](std::int64_t index) { blas->gemm_grouped({call(at->pointers_to(index))}); };
  });
}

}  // namespace tilewright::cli
