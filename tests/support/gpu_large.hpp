// Shared by tests of large GEMM on a GPU: a product that needs every part of a kernel, run once and compared
// with the CPU reference.
#pragma once

#include "core/dispatch.hpp"
#include "gemm/plan.hpp"
#include "support/gpu_fixture.hpp"

namespace tilewright::testing {

inline GemmProblem square(const std::string& rest = "") {
  return packed(parse_problem("gemm:f64:nn:m=160,n=144,k=400:beta=one:location=device" + rest));
}

inline std::string run_once(const Gpu& gpu, const GemmPlan& made, const GpuDraw& draw = {1, 1}) {
  return dispatch(made.problem().dtype, [&]<class T>() {
    const GpuBatch<T> batch(gpu, made.problem(), draw);
    batch.run(made);
    gpu.synchronize();
    return batch.check();
  });
}

}  // namespace tilewright::testing
