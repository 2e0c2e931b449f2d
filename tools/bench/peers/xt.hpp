// cublasXt, the vendor's product of host operands on several GPUs, opened at run time as a peer. It is called
// as its documentation describes: a block size, devices, and a part of C for the CPU's BLAS.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/problem.hpp"

namespace tilewright::peers {

class CublasXt {
 public:
  // Throws Error(unsupported) naming the libraries tried or the call that failed.
  explicit CublasXt(const std::vector<int>& devices);
  ~CublasXt();
  CublasXt(const CublasXt&) = delete;
  CublasXt& operator=(const CublasXt&) = delete;

  void set_block(int block);
  // Sets the CPU's share of C, computed by the Fortran routine `gemm` of the type; 0: the GPUs alone.
  void set_cpu_ratio(DType dtype, void* gemm, float ratio);
  // Returns when C is complete. alpha and beta are host addresses of the type.
  void multiply(const GemmProblem& problem, const Operands& operands);
  std::string version() const;

 private:
  struct Api;
  std::unique_ptr<Api> api_;
};

// Returns the Fortran gemm of the type from the first BLAS that is found, for set_cpu_ratio(); null without
// one.
void* fortran_gemm(DType dtype);

}  // namespace tilewright::peers
