// A GPU that is simulated for a bench: bench lu and bench hybrid with --simulated-gpu.
#pragma once

#include <string>

#include "tilewright/context.hpp"
#include "tilewright/types.hpp"

namespace tilewright::bench {

// Simulates a GPU, to show how CPU and GPU share work on a machine without one, or with a slower one than
// the machine has: the host waits as long as a model says that copies and products take, by the wall clock,
// while the CPU really does its part. Timed runs compute no products there; a check computes all of them.
struct SimulatedGpu {
  double gflops = 0;         // for f64 products; f32 is twice as fast
  double link_gb_per_s = 0;  // in each direction
  bool is_wanted() const { return gflops > 0; }
  double speed(DType dtype) const {
    return gflops * 1e9 * (dtype == DType::f32 || dtype == DType::c64 ? 2 : 1);
  }
  std::string text() const;
};

// Makes this the Context's only GPU; call it before the first plan. All host memory counts as pinned. paced:
// time passes and nothing is multiplied; otherwise the reverse.
void simulate_gpu(Context& context, const SimulatedGpu& gpu, bool paced);

}  // namespace tilewright::bench
