// Opens a GPU for a run, describes it, and measures its ceilings.
#include "bench/gpu/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "core/dispatch.hpp"
#include "core/estimate.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/kept.hpp"
#include "kernel/probe/loops.hpp"
#include "measure/ceilings.hpp"
#include "measure/gpu/arena.hpp"
#include "measure/gpu/energy.hpp"
#include "tilewright/device_layout.hpp"

namespace tilewright::bench {
namespace {

// Converts a batch by the public functions, to interleaved blocks with the same leading dimensions and back.
struct GpuConversion {
  static constexpr auto device = Location::device;
  Context& context;
  GemmProblem from;  // a strided or pointer batch
  std::int64_t block;
  int ordinal;

  GemmOptions options(void* stream = nullptr) const {
    GemmOptions options;
    options.queue.device = ordinal;
    options.queue.stream = static_cast<CUstream_st*>(stream);
    return options;
  }
  // Compiles the kernels.
  void prepare() const {
    prepare_layout(context, from.dtype, from.a_rows(), from.a_cols(), options());
    prepare_layout(context, from.dtype, from.b_rows(), from.b_cols(), options());
    prepare_layout(context, from.dtype, from.m, from.n, options());
  }

  // Calls f with the view of one operand as it lies in `from`, and with that of its blocks.
  template <class T, class F>
  void with_views(const void* data, const void* blocks, std::int64_t rows, std::int64_t columns,
                  std::int64_t ld, std::int64_t stride, F&& f) const {
    const InterleavedBatch<T, device> interleaved{
        static_cast<T*>(const_cast<void*>(blocks)), rows, columns, ld, block, from.batch_count};
    if (from.layout == Layout::pointer)
      f(PointerBatch<T, device>{static_cast<T* const*>(data), rows, columns, ld, from.batch_count},
        interleaved);
    else
      f(
          StridedBatch<T, device>{
              {static_cast<T*>(const_cast<void*>(data)), rows, columns, ld}, stride, from.batch_count},
          interleaved);
  }

  void in(const Operands& x, const Operands& y) const {
    const GemmProblem& p = from;
    dispatch(p.dtype, [&]<class T>() {
      const auto queue = [&](const auto& plain, const auto& blocks) {
        interleave<T>(context, plain, blocks, options(x.stream));
      };
      with_views<T>(x.a, y.a, p.a_rows(), p.a_cols(), p.lda, p.stride_a, queue);
      with_views<T>(x.b, y.b, p.b_rows(), p.b_cols(), p.ldb, p.stride_b, queue);
      if (p.beta != Scalar::zero) with_views<T>(x.c, y.c, p.m, p.n, p.ldc, p.stride_c, queue);
    });
  }
  void out(const Operands& y, const Operands& x) const {
    const GemmProblem& p = from;
    dispatch(p.dtype, [&]<class T>() {
      with_views<T>(x.c, y.c, p.m, p.n, p.ldc, p.stride_c, [&](const auto& plain, const auto& blocks) {
        deinterleave<T>(context, blocks, plain, options(x.stream));
      });
    });
  }
};

// Runs all loops in alternation, round after round; each ceiling is the best loop by the median of its
// rounds.

constexpr int warm_rounds = 3, timed_rounds = 12;

// One loop of one ceiling.
struct CeilingLoop {
  double GpuCeilings::*ceiling;
  std::function<double()> run;  // queues the loop and returns its bytes or operations
  std::vector<double> rates{};
};

}  // namespace

GpuBench::GpuBench(const Plan& run)
    : Machine(run),
      machine(Access::impl(context).gpus->open(run.device)),
      gpu(machine->gpu()),
      current(gpu),
      stream(gpu),
      timer(gpu, stream.get()),
      streams(gpu, machine->compiler()),
      multiplies(gpu, machine->compiler()),
      arena(gpu, std::size_t(run.operand_bytes)),
      use(gpu.limits().uuid) {
  try {
    blas.emplace();
    blas->set_stream(stream.get());
  } catch (const Error& error) {
    no_blas = error.what();
  }
}

std::vector<std::string> GpuBench::describe() const {
  const GpuLimits& limits = gpu.limits();
  std::vector<std::string> lines = {fmt::format("{} (sm_{}), {}", limits.name, limits.compute_capability,
                                                machine->compiler().nvrtc().version())};
  if (blas) lines.push_back("peers: cuBLAS " + blas->version());
  if (!no_blas.empty()) lines.push_back("not here: cuBLAS (" + no_blas + ")");
  if (!use.absence().empty()) lines.push_back("not here: NVML (" + use.absence() + ")");
  return lines;
}

void GpuBench::prepare(const std::vector<Case>& cases) {
  // A case that cannot be prepared reports its error when it runs.
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < 2 * cases.size(); ++i) {
    const Case& one = cases[i / 2];
    try {
      tilewright::plan(i % 2 == 0 ? context : without_wisdom, planned_problem(one), options(one));
    } catch (const Error&) {
    }
  }
}

Machine::Conversion GpuBench::conversion(const GemmProblem& from, const GemmProblem& to, int) {
  const GpuConversion convert{context, from, to.block, plan.device};
  convert.prepare();
  Conversion all{[convert](const Operands& x, const Operands& y) { convert.in(x, y); },
                 [convert](const Operands& x, const Operands& y) { convert.out(x, y); }};
  const GpuStreamMix apart = gpu_traffic(from).mix, together = gpu_traffic(to).mix;
  const double pointers =
      from.layout == Layout::pointer ? double(sizeof(void*)) * double(from.batch_count) : 0;
  all.out_bytes = apart.c_bytes + together.c_bytes + pointers;
  all.in_bytes = apart.a_bytes + apart.b_bytes + together.a_bytes + together.b_bytes + 2 * pointers;
  if (apart.reads_c) all.in_bytes += all.out_bytes;
  add_streams(together, all.loops, "multiplying");
  // A copy in the terms of the streaming loops: it writes as much as it reads.
  add_streams({.a_bytes = 1, .b_bytes = 1, .c_bytes = 2, .reads_c = false}, all.loops, "copying");
  return all;
}

void GpuBench::add_streams(const GpuStreamMix& mix, std::vector<Contender>& to, const std::string& impl) {
  const GpuStreamMix whole = mix.as_long_as(double(arena.operand_bytes()));
  for (const GpuStreams::Loop& loop : streams.loops(mix.reads_c)) {
    const auto run = [this, &loop, whole] {
      return GpuStreams::launch(loop, whole, arena.a(), arena.b(), arena.streamed_c(), stream.get());
    };
    Contender one{.role = Role::memory_loop, .impl = impl, .variant = loop.name};
    one.work = run();
    one.run = [run](std::int64_t) { run(); };
    to.push_back(std::move(one));
  }
  gpu.synchronize();
}

GemmOptions GpuBench::options(const Case& c) const {
  GemmOptions options = c.options;
  options.queue.device = plan.device;
  options.align_bytes = 0;  // the alignment of allocations
  return options;
}

nlohmann::json GpuBench::readings() const {
  const GpuReadings now = use.nvml() != nullptr ? use.nvml()->read() : GpuReadings{};
  nlohmann::json metrics = nlohmann::json::object();
  if (now.clock_mhz) metrics["clock_mhz"] = *now.clock_mhz;
  if (now.memory_clock_mhz) metrics["memory_clock_mhz"] = *now.memory_clock_mhz;
  if (now.temperature_c) metrics["temperature_c"] = *now.temperature_c;
  return metrics;
}

nlohmann::json GpuBench::provenance() const {
  const GpuLimits& limits = gpu.limits();
  return {{"device", limits.name},
          {"device_uuid", limits.uuid},
          {"driver", use.nvml() != nullptr ? use.nvml()->driver_version() : limits.driver_version},
          {"compiler", machine->compiler().provenance()}};
}

std::unique_ptr<Machine> gpu_machine(const Plan& plan) { return std::make_unique<GpuBench>(plan); }

GpuCeilings measure_gpu_ceilings(const GpuMachine& machine, std::size_t operand_bytes) {
  const Gpu& gpu = machine.gpu();
  const Gpu::Current current(gpu);
  const GpuStream stream(gpu);
  const GpuStreams streams(gpu, machine.compiler());
  const GpuMultiplies multiplies(gpu, machine.compiler());
  // Parts of the memory: three operands, a C to stream, and the rest for other programs.
  constexpr std::size_t parts = 8;
  GpuArena arena(gpu, std::min(operand_bytes, std::size_t(gpu.limits().memory_bytes) / parts));
  arena.fill(DType::f64);

  std::vector<CeilingLoop> loops;
  for (const bool reads_c : {true, false}) {
    const GpuStreamMix mix = GpuStreamMix{1, 1, 1, reads_c}.as_long_as(double(arena.operand_bytes()));
    for (const GpuStreams::Loop& loop : streams.loops(reads_c))
      loops.push_back(
          {reads_c ? &GpuCeilings::memory_update : &GpuCeilings::memory_write, [&arena, &loop, &stream, mix] {
             return GpuStreams::launch(loop, mix, arena.a(), arena.b(), arena.streamed_c(), stream.get());
           }});
  }
  for (const GpuMultiplies::Loop& loop : multiplies.loops())
    loops.push_back(
        {loop.is_double ? &GpuCeilings::multiply_f64 : &GpuCeilings::multiply_f32, [&arena, &loop, &stream] {
           GpuMultiplies::launch(loop, arena.a(), stream.get());
           return loop.flops;
         }});
  GpuTimer timer(gpu, stream.get());
  for (int round = 0; round < warm_rounds + timed_rounds; ++round)
    for (CeilingLoop& loop : loops) {
      double work = 0;
      const double seconds = timer.seconds([&] { work = loop.run(); });
      if (round >= warm_rounds) loop.rates.push_back(1e-9 * work / seconds);
    }
  GpuCeilings ceilings;
  ceilings.device = gpu.limits().name;
  for (const CeilingLoop& loop : loops)
    ceilings.*loop.ceiling = std::max(ceilings.*loop.ceiling, estimate(loop.rates).centre);
  ceilings.time = time_now();
  return ceilings;
}

}  // namespace tilewright::bench
