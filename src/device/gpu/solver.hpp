// cuSOLVER opened at run time, for LU in device memory, with functions declared by their signatures.
#pragma once

#include <cstdint>
#include <string>

#include "device/gpu/gpu.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

class GpuSolver {
 public:
  // Throws Error(unsupported) naming the libraries tried. Calls need the device's context to be current.
  GpuSolver();
  ~GpuSolver();
  GpuSolver& operator=(GpuSolver&&) = delete;

  const std::string& version() const { return version_; }
  void set_stream(CUstream_st* stream);

  // ?getrf with 32-bit pivots, and the newer call with 64-bit ones. Both queue their work.
  std::int64_t getrf_elements(DType dtype, std::int64_t m, std::int64_t n, void* a, std::int64_t lda);
  void getrf(DType dtype, std::int64_t m, std::int64_t n, void* a, std::int64_t lda, void* workspace,
             int* pivots, int* info);
  struct Workspace {
    std::size_t device_bytes = 0, host_bytes = 0;
  };
  Workspace xgetrf_workspace(DType dtype, std::int64_t m, std::int64_t n, const void* a, std::int64_t lda);
  void xgetrf(DType dtype, std::int64_t m, std::int64_t n, void* a, std::int64_t lda, std::int64_t* pivots,
              const Workspace& sizes, void* device_workspace, void* host_workspace, int* info);
  // Solves systems with its factors; queues the work.
  void xgetrs(DType dtype, Op op, std::int64_t n, std::int64_t nrhs, const void* lu, std::int64_t lda,
              const std::int64_t* pivots, void* b, std::int64_t ldb, int* info);

 private:
  template <class F>
  F find(const std::string& name) const;
  void check(int status, const std::string& call) const;

  void* library_ = nullptr;
  void* handle_ = nullptr;
  void* params_ = nullptr;
  std::string version_;
};

}  // namespace tilewright
