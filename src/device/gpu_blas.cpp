// Looks cuBLAS's functions up and passes calls on.
#include "device/gpu_blas.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace tilewright {
namespace {

using GemmStrided = int (*)(void*, int, int, int, int, int, const void*, const void*, int, long long,
                            const void*, int, long long, const void*, void*, int, long long, int);

int operation(Op op) { return op == Op::none ? 0 : op == Op::trans ? 1 : 2; }

using GemmPointers = int (*)(void*, int, int, int, int, int, const void*, const void*, int, const void*, int,
                             const void*, const void*, int, int);
using GemmGrouped = int (*)(void*, const int*, const int*, const int*, const int*, const int*, const void*,
                            const void*, const int*, const void*, const int*, const void*, const void*,
                            const int*, int, const int*);

std::string gemm_name(DType dtype, const char* kind) {
  const char letter = dtype == DType::f32 ? 'S' : dtype == DType::f64 ? 'D' : dtype == DType::c64 ? 'C' : 'Z';
  return fmt::format("cublas{}gemm{}", letter, kind);
}

template <class F>
F look_up(void* library, const std::string& name) {
  void* found = dlsym(library, name.c_str());
  if (found == nullptr) throw Error(ErrorCode::unsupported, "cublas", fmt::format("cuBLAS has no {}", name));
  return reinterpret_cast<F>(found);
}

}  // namespace

GpuBlas::GpuBlas(const std::string& path) {
  for (const char* name : {path.c_str(), "libcublas.so.13", "libcublas.so.12", "libcublas.so"})
    if (library_ == nullptr && *name != '\0') library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr)
    throw Error(ErrorCode::unsupported, "cublas", fmt::format("cuBLAS was not found ({})", dlerror()));
  check(look_up<int (*)(void**)>(library_, "cublasCreate_v2")(&handle_), "cublasCreate");
  int version = 0;
  check(look_up<int (*)(void*, int*)>(library_, "cublasGetVersion_v2")(handle_, &version),
        "cublasGetVersion");
  version_ = fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

GpuBlas::~GpuBlas() {
  if (handle_ != nullptr) look_up<int (*)(void*)>(library_, "cublasDestroy_v2")(handle_);
}

void GpuBlas::check(int status, const std::string& call) const {
  if (status != 0)
    throw Error(ErrorCode::internal, "cublas", fmt::format("{} failed with status {}", call, status));
}

void GpuBlas::set_stream(CUstream_st* stream) {
  check(look_up<int (*)(void*, CUstream_st*)>(library_, "cublasSetStream_v2")(handle_, stream),
        "cublasSetStream");
}

void GpuBlas::gemm_strided(const Batch& b) {
  const std::string name = gemm_name(b.dtype, "StridedBatched");
  check(look_up<GemmStrided>(library_, name)(handle_, operation(b.op_a), operation(b.op_b), b.m, b.n, b.k,
                                             b.alpha, b.a, b.lda, b.stride_a, b.b, b.ldb, b.stride_b, b.beta,
                                             b.c, b.ldc, b.stride_c, b.count),
        name);
}

void GpuBlas::gemm_pointers(const Batch& b) {
  const std::string name = gemm_name(b.dtype, "Batched");
  check(look_up<GemmPointers>(library_, name)(handle_, operation(b.op_a), operation(b.op_b), b.m, b.n, b.k,
                                              b.alpha, b.a, b.lda, b.b, b.ldb, b.beta, b.c, b.ldc, b.count),
        name);
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
  check(look_up<GemmGrouped>(library_, name)(handle_, op_a.data(), op_b.data(), m.data(), n.data(), k.data(),
                                             alphas.data(), first.a, lda.data(), first.b, ldb.data(),
                                             betas.data(), first.c, ldc.data(),
                                             static_cast<int>(groups.size()), count.data()),
        name);
}

}  // namespace tilewright
