// The families of `bench` that are not a comparison of multiplications, and the counters shown beside those
// that are.
#pragma once

#include <cstdio>

#include "bench_run.hpp"

namespace tilewright::cli {

// What our kernel executes per problem: counted from the generated code, and by the hardware where it
// answers.
void print_counters(std::FILE* out, BenchMachine& machine, const CaseResult& result);

// Of one on the GPU: what its kernel takes of a multiprocessor and where the cost model sees its cycles go.
void print_gpu_counters(std::FILE* out, const CaseResult& result);

// Time to generate a kernel; a call through a plan, a call of the API and LIBXSMM's dispatch and call.
void bench_overhead(const BenchFlags& flags, const BenchPlan& plan);

// Conversions between batch layouts, and how often a batch must be reused before converting pays.
void bench_layout(const BenchFlags& flags, const BenchPlan& plan);

// Allocating one block per matrix against one block for all (Dongarra 2017, Fig. 3).
void bench_transfer(const BenchFlags& flags, const BenchPlan& plan);

}  // namespace tilewright::cli
