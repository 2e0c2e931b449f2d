// Looks up cuBLAS's functions and forwards calls.
#include "device/gpu/blas.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "core/dispatch.hpp"
#include "core/host/fork_gate.hpp"
#include "core/input/failure.hpp"

namespace tilewright {
namespace {

using GemmStrided = int (*)(void*, int, int, int, int, int, const void*, const void*, int, long long,
                            const void*, int, long long, const void*, void*, int, long long, int);
using GemmPointer = int (*)(void*, int, int, int, int, int, const void*, const void*, int, const void*, int,
                            const void*, void*, int, int);
using GemmGrouped = int (*)(void*, const int*, const int*, const int*, const int*, const int*, const void*,
                            const void*, const int*, const void*, const int*, const void*, void*, const int*,
                            int, const int*);

int operation(Op op) { return op == Op::none ? 0 : op == Op::trans ? 1 : 2; }

// Returns "cublasDgemmBatched" for f64 and "Batched".
std::string gemm_name(DType dtype, const char* kind) {
  return fmt::format("cublas{}gemm{}", "SDCZ"[int(dtype)], kind);
}

// A scalar aligned to its size, as cuBLAS reads it; std::complex<double> has half of that alignment.
class AlignedScalar {
 public:
  AlignedScalar(const void* value, DType dtype) {
    std::memcpy(bytes_, value, std::size_t(size_bytes(dtype)));
  }
  operator const void*() const { return bytes_; }

 private:
  alignas(16) unsigned char bytes_[16];
};

void* open_library(const std::string& path) {
  for (const char* name : {path.c_str(), "libcublas.so.13", "libcublas.so.12", "libcublas.so"})
    if (void* library = *name == '\0' ? nullptr : dlopen(name, RTLD_LAZY | RTLD_LOCAL)) return library;
  return nullptr;
}

}  // namespace

template <class F>
F GpuBlas::find(const char* name) const {
  void* found = dlsym(library_, name);
  if (found == nullptr)
    throw Error(ErrorCode::unsupported, "cublas", fmt::format("cuBLAS {} has no {}", version_, name));
  return reinterpret_cast<F>(found);
}

template <class F>
F GpuBlas::function(Kind kind, DType dtype) const {
  void* const known = functions_[int(kind)][int(dtype)];
  if (known != nullptr) return reinterpret_cast<F>(known);
  return find<F>(gemm_name(dtype, endings[int(kind)]).c_str());  // throws if missing
}

// Opened once and never closed: unloading cuBLAS while other threads call it crashes the process.
bool GpuBlas::is_there() {
  static constinit Once<const bool> once;
  return once.get([] { return open_library({}) != nullptr; });
}

GpuBlas::GpuBlas(const std::string& path) : library_(open_library(path)) {
  if (library_ == nullptr)
    throw Error(ErrorCode::unsupported, "cublas", fmt::format("cuBLAS was not found ({})", loader_error()));
  if (const int status = find<int (*)(void**)>("cublasCreate_v2")(&handle_); status != 0)
    throw Error(ErrorCode::unsupported, "cublas", fmt::format("cublasCreate failed with status {}", status));
  int version = 0;
  check(find<int (*)(void*, int*)>("cublasGetVersion_v2")(handle_, &version), "cublasGetVersion");
  version_ = fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
  set_stream_ = find<int (*)(void*, CUstream_st*)>("cublasSetStream_v2");
  for (int kind = 0; kind < 3; ++kind)
    for (int dtype = 0; dtype < 4; ++dtype)
      functions_[kind][dtype] = dlsym(library_, gemm_name(static_cast<DType>(dtype), endings[kind]).c_str());
}

GpuBlas::~GpuBlas() {
  if (handle_ != nullptr) find<int (*)(void*)>("cublasDestroy_v2")(handle_);
}

void GpuBlas::check(int status, const std::string& call) const {
  if (status != 0)
    throw Error(ErrorCode::internal, "cublas", fmt::format("{} failed with status {}", call, status));
}

void GpuBlas::check(int status, Kind kind, DType dtype) const {
  if (status != 0) check(status, gemm_name(dtype, endings[int(kind)]));
}

void GpuBlas::set_stream(CUstream_st* stream) { check(set_stream_(handle_, stream), "cublasSetStream"); }

void GpuBlas::set_workspace(void* memory, std::int64_t bytes) {
  using SetWorkspace = int (*)(void*, void*, std::size_t);
  if (const auto set = reinterpret_cast<SetWorkspace>(dlsym(library_, "cublasSetWorkspace_v2")))
    check(set(handle_, memory, std::size_t(bytes)), "cublasSetWorkspace");
}

GpuBlas::Batch GpuBlas::batch_of(const GemmProblem& p, const Operands& o) {
  return {p.dtype,    p.op_a, p.op_b,     int(p.m),   int(p.n),   int(p.k),
          o.alpha,    o.a,    int(p.lda), p.stride_a, o.b,        int(p.ldb),
          p.stride_b, o.beta, o.c,        int(p.ldc), p.stride_c, int(p.batch_count)};
}

std::string GpuBlas::why_not(const GemmProblem& p) {
  if (p.layout != Layout::single && p.layout != Layout::strided && p.layout != Layout::pointer)
    return fmt::format("cuBLAS does not support the layout {}", to_string(p.layout));
  const std::int64_t largest = std::max({p.m, p.n, p.k, p.lda, p.ldb, p.ldc, p.batch_count});
  if (largest <= std::numeric_limits<int>::max()) return "";
  return fmt::format("{} does not fit the 32-bit integers of cuBLAS", largest);
}

void GpuBlas::multiply(const GemmProblem& problem, const Operands& operands) {
  const Batch batch = batch_of(problem, operands);
  if (problem.layout == Layout::pointer) return gemm_pointers(batch);
  if (problem.layout == Layout::strided) return gemm_strided(batch);
  gemm(batch);
}

void GpuBlas::gemm_strided(const Batch& b) {
  const AlignedScalar alpha(b.alpha, b.dtype), beta(b.beta, b.dtype);
  check(function<GemmStrided>(Kind::strided, b.dtype)(handle_, operation(b.op_a), operation(b.op_b), b.m, b.n,
                                                      b.k, alpha, b.a, b.lda, b.stride_a, b.b, b.ldb,
                                                      b.stride_b, beta, b.c, b.ldc, b.stride_c, b.count),
        Kind::strided, b.dtype);
}

void GpuBlas::gemm_pointers(const Batch& b) {
  const AlignedScalar alpha(b.alpha, b.dtype), beta(b.beta, b.dtype);
  check(function<GemmPointer>(Kind::pointer, b.dtype)(handle_, operation(b.op_a), operation(b.op_b), b.m, b.n,
                                                      b.k, alpha, b.a, b.lda, b.b, b.ldb, beta, b.c, b.ldc,
                                                      b.count),
        Kind::pointer, b.dtype);
}

void GpuBlas::gemm_grouped(const std::vector<Batch>& groups) {
  if (groups.empty()) return;
  const Batch& first = groups.front();
  const std::string name = gemm_name(first.dtype, "GroupedBatched");
  std::vector<int> op_a, op_b, m, n, k, lda, ldb, ldc, count;
  std::string alphas, betas;  // bytes of one value per group
  const auto value = [&](const void* at) {
    return std::string(static_cast<const char*>(at), size_bytes(first.dtype));
  };
  for (const Batch& g : groups) {
    op_a.push_back(operation(g.op_a));
    op_b.push_back(operation(g.op_b));
    m.push_back(g.m);
    n.push_back(g.n);
    k.push_back(g.k);
    lda.push_back(g.lda);
    ldb.push_back(g.ldb);
    ldc.push_back(g.ldc);
    count.push_back(g.count);
    alphas += value(first.alpha);
    betas += value(first.beta);
  }
  check(find<GemmGrouped>(name.c_str())(handle_, op_a.data(), op_b.data(), m.data(), n.data(), k.data(),
                                        alphas.data(), first.a, lda.data(), first.b, ldb.data(), betas.data(),
                                        first.c, ldc.data(), int(groups.size()), count.data()),
        name);
}

void GpuBlas::gemm(const Batch& b) {
  using Gemm = int (*)(void*, int, int, int, int, int, const void*, const void*, int, const void*, int,
                       const void*, void*, int);
  const AlignedScalar alpha(b.alpha, b.dtype), beta(b.beta, b.dtype);
  check(function<Gemm>(Kind::single, b.dtype)(handle_, operation(b.op_a), operation(b.op_b), b.m, b.n, b.k,
                                              alpha, b.a, b.lda, b.b, b.ldb, beta, b.c, b.ldc),
        Kind::single, b.dtype);
}

void GpuBlas::gemm_tuned(const Batch& b) {
  using GemmEx = int (*)(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int,
                         int, const void*, void*, int, int, int, int);
  constexpr int autotune = 999, invalid_value = 7, not_supported = 15;
  constexpr int types[] = {0, 1, 4, 5};  // CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F
  constexpr int compute_32f = 68, compute_64f = 70;
  const int type = types[int(b.dtype)];
  const bool is_narrow = b.dtype == DType::f32 || b.dtype == DType::c64;
  const AlignedScalar alpha(b.alpha, b.dtype), beta(b.beta, b.dtype);
  const int status = find<GemmEx>("cublasGemmEx")(
      handle_, operation(b.op_a), operation(b.op_b), b.m, b.n, b.k, alpha, b.a, type, b.lda, b.b, type, b.ldb,
      beta, b.c, type, b.ldc, is_narrow ? compute_32f : compute_64f, autotune);
  if (status == invalid_value || status == not_supported)
    throw Error(ErrorCode::unsupported, "cublas",
                fmt::format("cuBLAS {} does not tune this product: CUBLAS_GEMM_AUTOTUNE returns status {}",
                            version_, status));
  check(status, "cublasGemmEx");
}

void GpuBlas::add(DType dtype, std::int64_t m, std::int64_t n, const void* beta, const void* from,
                  std::int64_t ld_from, void* to, std::int64_t ld_to) {
  using Geam = int (*)(void*, int, int, int, int, const void*, const void*, int, const void*, const void*,
                       int, void*, int);
  const std::string name = fmt::format("cublas{}geam", "SDCZ"[int(dtype)]);
  alignas(16) unsigned char one[16];
  dispatch(dtype, [&]<class T>() { std::construct_at(reinterpret_cast<T*>(one), T(1)); });
  const AlignedScalar factor(beta, dtype);
  check(find<Geam>(name.c_str())(handle_, 0, 0, int(m), int(n), one, to, int(ld_to), factor, from,
                                 int(ld_from), to, int(ld_to)),
        name);
}

}  // namespace tilewright
