// The machine that cases run on, and what is said of it.
#include "bench_gpu.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench_layout.hpp"
#include "gpu_transfer.hpp"

#if TILEWRIGHT_HAS_GPU
#include "gpu_array_calls.hpp"
#include "gpu_bench_machine.hpp"
#include "gpu_bench_run.hpp"
#endif

namespace tilewright::cli {

std::int64_t gpu_batch_count(const GemmProblem& p, std::size_t operand_bytes) {
  std::int64_t largest = 1;  // elements from one problem to the next
  for (const std::int64_t elements :
       {std::max(p.stride_a, p.lda * p.a_cols()), std::max(p.stride_b, p.ldb * p.b_cols()),
        std::max(p.stride_c, p.ldc * p.n)})
    largest = std::max(largest, elements);
  std::int64_t bytes = largest * std::int64_t(size_bytes(p.dtype));
  if (p.layout == Layout::pointer)
    bytes = (bytes + 31) / 32 * 32;  // each matrix begins in a sector of its own
  const std::int64_t count = std::int64_t(operand_bytes) / bytes;
  const std::int64_t in_block = std::max<std::int64_t>(1, p.block);
  return std::max(in_block, count / in_block * in_block);
}

std::vector<std::string> gpu_peer_names(const std::string& family) {
  if (family == "gemm") return {"cublas"};
  return {"cublas_strided", "cublas_pointer", "cublas_grouped"};
}

#if TILEWRIGHT_HAS_GPU

GpuBenchMachine::GpuBenchMachine(const BenchPlan& plan) : impl_(std::make_unique<Impl>(plan)) {}
GpuBenchMachine::~GpuBenchMachine() = default;

std::vector<std::string> GpuBenchMachine::describe() const {
  const GpuLimits& limits = impl_->gpu.limits();
  std::vector<std::string> lines = {fmt::format("{} (sm_{}), {}", limits.name, limits.compute_capability,
                                                impl_->machine->compiler().nvrtc().version())};
  if (impl_->blas) lines.push_back("peers: cuBLAS " + impl_->blas->version());
  if (!impl_->no_blas.empty()) lines.push_back("not here: cuBLAS (" + impl_->no_blas + ")");
  if (!impl_->use.absence().empty()) lines.push_back("not here: NVML (" + impl_->use.absence() + ")");
  return lines;
}

void GpuBenchMachine::prepare(const std::vector<BenchCase>& cases) {
  // What cannot be prepared says so when its case is run.
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < 2 * cases.size(); ++i) {
    const BenchCase& one = cases[i / 2];
    try {
      plan(i % 2 == 0 ? impl_->context : impl_->without_wisdom, planned_problem(one),
           gpu_options(impl_->plan, one));
    } catch (const Error&) {
    }
  }
}

CaseResult GpuBenchMachine::run(const BenchCase& bench_case, bool check_only) {
  return run_gpu_case(*impl_, bench_case, check_only);
}

#else

namespace {

[[noreturn]] void refuse_family(const BenchPlan& plan) {
  const std::string family = plan.cases.empty() ? "gemm_small" : plan.cases.front().family;
  throw Error(ErrorCode::unsupported, "FAMILY",
              fmt::format("FAMILY = '{}' is refused on a GPU: this build has no GPU runtime", family));
}

}  // namespace

struct GpuBenchMachine::Impl {};
GpuBenchMachine::GpuBenchMachine(const BenchPlan& plan) { refuse_family(plan); }
LayoutBench gpu_layout_bench(const BenchPlan& plan) { refuse_family(plan); }
void check_gpu_transfer(const BenchPlan& plan) { refuse_family(plan); }
GpuTransferResult measure_gpu_transfer(const BenchPlan& plan, const TransferBatch&) { refuse_family(plan); }
GpuBenchMachine::~GpuBenchMachine() = default;
std::vector<std::string> GpuBenchMachine::describe() const { return {}; }
void GpuBenchMachine::prepare(const std::vector<BenchCase>&) {}
CaseResult GpuBenchMachine::run(const BenchCase&, bool) { return {}; }

#endif

}  // namespace tilewright::cli
