// Looks cuBLAS's functions up and passes calls on.
#include "device/gpu_blas.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace tilewright {
namespace {

using GemmStrided = int (*)(void*, int, int, int, int, int, const void*, const void*, int, long long,
                            const void*, int, long long, const void*, void*, int, long long, int);

int operation(Op op) { return op == Op::none ? 0 : op == Op::trans ? 1 : 2; }

const char* gemm_name(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "cublasSgemmStridedBatched";
    case DType::f64:
      return "cublasDgemmStridedBatched";
    case DType::c64:
      return "cublasCgemmStridedBatched";
    case DType::c128:
      return "cublasZgemmStridedBatched";
  }
  return "";
}

template <class F>
F look_up(void* library, const char* name) {
  void* found = dlsym(library, name);
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

void GpuBlas::check(int status, const char* call) const {
  if (status != 0)
    throw Error(ErrorCode::internal, "cublas", fmt::format("{} failed with status {}", call, status));
}

void GpuBlas::set_stream(CUstream_st* stream) {
  check(look_up<int (*)(void*, CUstream_st*)>(library_, "cublasSetStream_v2")(handle_, stream),
        "cublasSetStream");
}

void GpuBlas::gemm_strided(const Batch& b) {
  const char* name = gemm_name(b.dtype);
  check(look_up<GemmStrided>(library_, name)(handle_, operation(b.op_a), operation(b.op_b), b.m, b.n, b.k,
                                             b.alpha, b.a, b.lda, b.stride_a, b.b, b.ldb, b.stride_b, b.beta,
                                             b.c, b.ldc, b.stride_c, b.count),
        name);
}

void GpuBlas::gemm(const Batch& b) {
  using Gemm = int (*)(void*, int, int, int, int, int, const void*, const void*, int, const void*, int,
                       const void*, void*, int);
  const char letter = b.dtype == DType::f32   ? 'S'
                      : b.dtype == DType::f64 ? 'D'
                      : b.dtype == DType::c64 ? 'C'
                                              : 'Z';
  const std::string name = fmt::format("cublas{}gemm_v2", letter);
  check(look_up<Gemm>(library_, name.c_str())(handle_, operation(b.op_a), operation(b.op_b), b.m, b.n, b.k,
                                              b.alpha, b.a, b.lda, b.b, b.ldb, b.beta, b.c, b.ldc),
        name.c_str());
}

}  // namespace tilewright
