// A batch in device memory converted between the layout its caller has it in and interleaved blocks: which
// kernels that takes and what each of them is passed. It allocates nothing and decides nothing; whether
// converting pays is kernel/layout.hpp's rule. The host's counterpart is measure/conversion.hpp.
#pragma once

#include <map>

#include "core/problem.hpp"
#include "gemm/device/machine.hpp"
#include "kernel/layout/loader.hpp"

namespace tilewright {

class GpuBatchConversion {
 public:
  // `from` is a strided or pointer batch, `to` the same problems in blocks with the same leading dimensions.
  // Compiles what is not kept: throws what StencilCompiler throws.
  GpuBatchConversion(std::shared_ptr<const GpuMachine> machine, const GemmProblem& from,
                     const GemmProblem& to);

  // Queue the conversions on from.stream: A, B and, where it is read, C; and C, back to where it came from.
  // Operands lie on the machine's GPU, of a pointer batch as arrays of addresses there.
  void in(const Operands& from, const Operands& to) const;
  void out(const Operands& to, const Operands& from) const;

 private:
  struct Matrices {
    int rows, columns;
    std::int64_t ld, stride;
  };
  void prepare(bool interleaves, const Matrices& matrices);
  void queue(bool interleaves, const Matrices& matrices, const void* single, const void* interleaved,
             CUstream_st* stream) const;

  std::shared_ptr<const GpuMachine> machine_;
  GemmProblem from_, to_;
  Matrices a_, b_, c_;
  // By direction and elements of a matrix.
  std::map<std::pair<bool, int>, std::shared_ptr<const GpuLayoutKernel>> kernels_;
};

}  // namespace tilewright
