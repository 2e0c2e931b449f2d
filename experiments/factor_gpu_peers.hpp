// The vendor's batched factorizations and solves of f32 and f64, opened at run time: cuSOLVER's potrfBatched
// and potrsBatched, cuBLAS's getrfBatched, getrsBatched and trsmBatched.
#pragma once

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernel/factor_cpu/kernel.hpp"

struct CUstream_st;

namespace tilewright::experiment {

struct PeerCall {
  LaneShape problem;
  std::int64_t count = 0;
  char *a = nullptr, *b = nullptr;  // one matrix behind the other
  int *pivots = nullptr, *info = nullptr;
  void** addresses = nullptr;  // on the device: of all A, then of all B
};

class VendorPeers {
 public:
  VendorPeers(bool wanted, CUstream_st* stream) : stream_(stream) {
    driver_ = open({"libcuda.so.1"});
    if (!wanted) return;
    blas_ =
        open({"libcublas.so.13", "libcublas.so.12", "libcublas.so", "/usr/local/cuda/lib64/libcublas.so"});
    solver_ = open(
        {"libcusolver.so.12", "libcusolver.so.11", "libcusolver.so", "/usr/local/cuda/lib64/libcusolver.so"});
    blas_ready_ = made(blas_, "cublasCreate_v2", "cublasSetStream_v2", blas_handle_);
    solver_ready_ = made(solver_, "cusolverDnCreate", "cusolverDnSetStream", solver_handle_);
  }
  bool are_there() const { return blas_ready_ || solver_ready_; }

  // Copies in device memory, in the stream; returns false if the driver does not.
  bool copy(void* to, const void* from, std::size_t bytes) const {
    return call<int>(driver_, "cuMemcpyDtoDAsync_v2", reinterpret_cast<unsigned long long>(to),
                     reinterpret_cast<unsigned long long>(from), bytes, stream_) == 0;
  }
  // Writes the addresses of all matrices.
  void place(PeerCall& c, void** addresses) const {
    const std::int64_t bytes = size_bytes(c.problem.dtype);
    const std::int64_t a = c.problem.n * c.problem.n * bytes, b = c.problem.n * c.problem.nrhs * bytes;
    std::vector<void*> all(std::size_t(2 * c.count));
    for (std::int64_t p = 0; p < c.count; ++p)
      all[std::size_t(p)] = c.a + p * a, all[std::size_t(c.count + p)] = c.b + p * b;
    c.addresses = addresses;
    call<int>(driver_, "cuMemcpyHtoD_v2", reinterpret_cast<unsigned long long>(addresses),
              static_cast<const void*>(all.data()), all.size() * sizeof(void*));
  }

  // Returns false if the routine is not served.
  bool run(const PeerCall& c) const {
    const std::string letter = c.problem.dtype == DType::f64 ? "D" : c.problem.dtype == DType::f32 ? "S" : "";
    if (letter.empty()) return false;
    const int n = int(c.problem.n), nrhs = int(c.problem.nrhs), count = int(c.count);
    void **const a = c.addresses, **const b = c.addresses + c.count;
    constexpr int lower = 0, left = 0, none = 0, non_unit = 0;
    const double one = 1;
    const float one_f = 1;
    const void* const alpha = letter == "D" ? static_cast<const void*>(&one) : &one_f;
    int host_info = 0, status = 1;
    const Routine r = c.problem.routine;
    if ((r == Routine::potrf || r == Routine::posv) && solver_ready_)
      status = call<int>(solver_, "cusolverDn" + letter + "potrfBatched", solver_handle_, lower, n, a, n,
                         c.info, count);
    if (r == Routine::posv && status == 0)
      status = call<int>(solver_, "cusolverDn" + letter + "potrsBatched", solver_handle_, lower, n, nrhs, a,
                         n, b, n, c.info, count);
    if ((r == Routine::getrf || r == Routine::gesv) && blas_ready_)
      status = call<int>(blas_, "cublas" + letter + "getrfBatched", blas_handle_, n, a, n, c.pivots, c.info,
                         count);
    if (r == Routine::gesv && status == 0)
      status = call<int>(blas_, "cublas" + letter + "getrsBatched", blas_handle_, none, n, nrhs, a, n,
                         c.pivots, b, n, &host_info, count);
    if (r == Routine::trsm && blas_ready_)
      status = call<int>(blas_, "cublas" + letter + "trsmBatched", blas_handle_, left, lower, none, non_unit,
                         n, nrhs, alpha, a, n, b, n, count);
    return status == 0;
  }

 private:
  static void* open(const std::vector<std::string>& names) {
    for (const std::string& name : names)
      if (void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    return nullptr;
  }
  template <class R, class... Arguments>
  static R call(void* library, const std::string& name, Arguments... arguments) {
    void* const function = library == nullptr ? nullptr : dlsym(library, name.c_str());
    if (function == nullptr) return R(1);
    return reinterpret_cast<R (*)(Arguments...)>(function)(arguments...);
  }
  bool made(void* library, const char* create, const char* set_stream, void*& handle) {
    return call<int>(library, create, &handle) == 0 && call<int>(library, set_stream, handle, stream_) == 0;
  }

  CUstream_st* stream_;
  void *driver_ = nullptr, *blas_ = nullptr, *solver_ = nullptr;
  void *blas_handle_ = nullptr, *solver_handle_ = nullptr;
  bool blas_ready_ = false, solver_ready_ = false;
};

}  // namespace tilewright::experiment
