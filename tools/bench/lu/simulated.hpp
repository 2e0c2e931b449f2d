// A GPU that is none, so that how CPU and GPU share an LU is seen on a machine without one, or beside a
// slower one than the machine has: the host waits as long as a model says that copies and products take, by
// the wall clock, while the CPU does its part for real. Nothing is multiplied there while time counts; a
// check computes all.
#pragma once

#include <memory>
#include <string>

#include "tilewright/context.hpp"
#include "tilewright/types.hpp"

namespace tilewright::bench {

struct SimulatedGpu {
  double gflops = 0;         // of f64 products; f32 is twice as fast
  double link_gb_per_s = 0;  // in each direction
  bool is_wanted() const { return gflops > 0; }
  double speed(DType dtype) const {
    return gflops * 1e9 * (dtype == DType::f32 || dtype == DType::c64 ? 2 : 1);
  }
  std::string text() const;
};

// The Context's only GPU from now on; before its first plan. All memory of the host counts as pinned.
// paced: time passes and nothing is multiplied; else the reverse.
void simulate_gpu(Context& context, const SimulatedGpu& gpu, bool paced);

}  // namespace tilewright::bench
