// cuBLAS opened at run time, with functions declared by their published signatures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "device/gpu/gpu.hpp"

namespace tilewright {

class GpuBlas {
 public:
  // Throws Error(unsupported) naming the libraries tried. Calls need the device's context to be current.
  explicit GpuBlas(const std::string& path = {});
  ~GpuBlas();
  // True if the library can be loaded; initialises nothing on a device.
  static bool is_there();
  GpuBlas& operator=(GpuBlas&&) = delete;

  const std::string& version() const { return version_; }
  void set_stream(CUstream_st* stream);
  // Makes cuBLAS use the caller's scratch memory until the stream is set again, so that calls replayed by a
  // graph do not share its own. Does nothing if the library is too old.
  void set_workspace(void* memory, std::int64_t bytes);

  // One shape for all problems; alpha and beta are host addresses.
  struct Batch {
    DType dtype = DType::f64;
    Op op_a = Op::none, op_b = Op::none;
    int m = 0, n = 0, k = 0;
    const void* alpha = nullptr;
    const void* a = nullptr;  // pointer and grouped: device arrays of pointers
    int lda = 0;
    std::int64_t stride_a = 0;
    const void* b = nullptr;
    int ldb = 0;
    std::int64_t stride_b = 0;
    const void* beta = nullptr;
    void* c = nullptr;
    int ldc = 0;
    std::int64_t stride_c = 0;
    int count = 0;
  };
  // Returns the call for a problem of fixed size on these operands, whose scalars lie on the host.
  static Batch batch_of(const GemmProblem& problem, const Operands& operands);
  // Returns why cuBLAS's interface cannot express the problem; "" if it can.
  static std::string why_not(const GemmProblem& problem);
  // Calls the function for the problem's layout: single, strided or pointer.
  void multiply(const GemmProblem& problem, const Operands& operands);

  void gemm_strided(const Batch& batch);
  // Multiplies by pointers: a, b and c are arrays of addresses on the device; strides are not read.
  void gemm_pointers(const Batch& batch);
  // Multiplies groups of pointer batches that follow one another in the first group's arrays; the others' a,
  // b, c and scalars are not read. Throws Error(unsupported) for complex types and older libraries.
  void gemm_grouped(const std::vector<Batch>& groups);
  // Multiplies one problem; strides and count are not read.
  void gemm(const Batch& batch);
  // The same by cuBLAS's own search (CUBLAS_GEMM_AUTOTUNE): the first call of a shape times the library's
  // algorithms and keeps the best in the handle. Throws Error(unsupported) for a library without it.
  void gemm_tuned(const Batch& batch);

  // Computes to += beta from for m x n column-major elements; beta lies on the host.
  void add(DType dtype, std::int64_t m, std::int64_t n, const void* beta, const void* from,
           std::int64_t ld_from, void* to, std::int64_t ld_to);

  // The handle and cublas?gemm_v2 of a type (null if missing), for measuring the cost of a direct call.
  void* handle() const { return handle_; }
  void* direct_gemm(DType dtype) const { return functions_[0][int(dtype)]; }

 private:
  // The number and layout of the matrices that a function takes; this decides the ending of its name.
  enum class Kind { single, strided, pointer };
  static constexpr const char* endings[] = {"_v2", "StridedBatched", "Batched"};

  void check(int status, const std::string& call) const;
  void check(int status, Kind kind, DType dtype) const;
  template <class F>
  F find(const char* name) const;
  template <class F>
  F function(Kind kind, DType dtype) const;

  void* library_ = nullptr;
  void* handle_ = nullptr;
  void* functions_[3][4] = {};  // by kind and type; cached, since a look-up takes as long as some calls
  int (*set_stream_)(void*, CUstream_st*) = nullptr;
  std::string version_;
};

}  // namespace tilewright
