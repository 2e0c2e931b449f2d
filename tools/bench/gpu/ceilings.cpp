// Runs all loops in alternation, round after round; each ceiling is the best loop by the median of its
// rounds.
#include "bench/gpu/ceilings.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include "kernel/probe/multiply.hpp"
#include "kernel/probe/stream.hpp"
#include "measure/ceilings.hpp"
#include "measure/estimate.hpp"
#include "measure/gpu/arena.hpp"
#include "measure/gpu/timer.hpp"

namespace tilewright::bench {
namespace {

constexpr int warm_rounds = 3, timed_rounds = 12;

// One loop of one ceiling.
struct CeilingLoop {
  double GpuCeilings::*ceiling;
  std::function<double()> run;  // queues the loop and returns its bytes or operations
  std::vector<double> rates{};
};

}  // namespace

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
