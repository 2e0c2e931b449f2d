// One case of a run on the GPU: who takes part, whether they are right, their turns, energy, and the bound.
#pragma once

#include "gpu_bench_machine.hpp"

namespace tilewright::cli {

// Checks everybody, then times them; with `check_only` nothing is timed. Throws JobFailed when ours is wrong.
CaseResult run_gpu_case(GpuBenchMachine::Impl& machine, const BenchCase& bench_case, bool check_only);

}  // namespace tilewright::cli
