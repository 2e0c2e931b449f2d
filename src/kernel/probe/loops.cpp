// Compiles, loads and launches the loops.
#include "kernel/probe/loops.hpp"

#include <iterator>

#include "device/team.hpp"
#include "kernel/probe/stream_config.hpp"

namespace tilewright {
namespace {

struct StreamWay {
  int bytes, stages, threads;  // stages 0: plain accesses
};
// Rings that did best on the devices seen so far, and the plain loop.
constexpr StreamWay stream_ways[] = {{16384, 0, 256}, {8192, 2, 128},  {8192, 3, 128}, {8192, 4, 128},
                                     {16384, 2, 256}, {16384, 3, 256}, {4096, 4, 64},  {4096, 6, 128}};

std::string name_of(const StreamWay& way) {
  return way.stages == 0 ? "plain" : fmt::format("bulk {}x{}", way.bytes, way.stages);
}
unsigned shared_bytes(const StreamWay& way) {
  return way.stages == 0 ? 0 : unsigned((3 * way.bytes + 8) * way.stages);
}
StencilRequest request_of(const StreamWay& way, bool reads_c, int capability) {
  const std::string expression = way.stages == 0 ? fmt::format("tilewright::gpu_stream_plain<{}>", reads_c)
                                                 : fmt::format("tilewright::gpu_stream_bulk<{}, {}, {}, {}>",
                                                               reads_c, way.bytes, way.stages, way.threads);
  return {"kernel/probe/stream.cuh", {expression}, "", capability};
}

// Steps, threads and blocks of the multiply-add loops.
constexpr int multiply_steps = 4096, threads = 256;
constexpr int blocks_per_multiprocessor = 8;

}  // namespace

GpuStreams::GpuStreams(const Gpu& gpu, const StencilCompiler& compiler) {
  const int capability = gpu.limits().compute_capability;
  constexpr int first_with_bulk_copies = 90;
  const int count = capability >= first_with_bulk_copies ? int(std::size(stream_ways)) : 1;
  std::vector<JitBinary> binaries(std::size_t(2 * count));
  run_each(omp_get_max_threads(), 2 * count, [&](std::int64_t i) {
    binaries[std::size_t(i)] = compiler.compile(request_of(stream_ways[i / 2], i % 2 == 1, capability));
  });
  for (int i = 0; i < 2 * count; ++i) {
    const StreamWay& way = stream_ways[i / 2];
    GpuModule module(gpu, binaries[std::size_t(i)].code);
    const int shared = int(shared_bytes(way));
    GpuFunction function = module.function(binaries[std::size_t(i)].function(), shared);
    const int fit = std::max(1, function.blocks_per_multiprocessor(way.threads, shared));
    const GpuLaunch launch{unsigned(gpu.limits().multiprocessors * fit), unsigned(way.threads),
                           shared_bytes(way)};
    loops_[i % 2].push_back({name_of(way), std::move(module), function, launch, way.bytes});
  }
}

double GpuStreams::launch(const Loop& loop, const GpuStreamMix& mix, const void* a, const void* b, void* c,
                          CUstream_st* stream) {
  const double longest = std::max({mix.a_bytes, mix.b_bytes, mix.c_bytes});
  const auto doubles = [&](double bytes) {  // of an operand in one tile, rounded to 16 bytes
    return bytes == 0 ? 0 : std::max(2, 2 * int(loop.tile_bytes / 16 * (bytes / longest)));
  };
  GpuStreamArgs args{static_cast<const double*>(a), static_cast<const double*>(b),
                     static_cast<double*>(c),       static_cast<long long>(longest / loop.tile_bytes),
                     doubles(mix.a_bytes),          doubles(mix.b_bytes),
                     doubles(mix.c_bytes),          loop.tile_bytes / 8};
  loop.function.launch(loop.launch, &args, stream);
  return 8.0 * double(args.tiles) * (args.a_count + args.b_count + (mix.reads_c ? 2 : 1) * args.c_count);
}

GpuMultiplies::GpuMultiplies(const Gpu& gpu, const StencilCompiler& compiler) {
  const GpuLimits& limits = gpu.limits();
  const GpuLaunch launch{unsigned(limits.multiprocessors * blocks_per_multiprocessor), threads, 0};
  const double thread_count = double(launch.blocks) * threads;
  const auto add = [&](const std::string& name, bool is_double, const std::string& expression, double flops) {
    const JitBinary binary =
        compiler.compile({"kernel/probe/multiply.cuh", {expression}, "", limits.compute_capability});
    GpuModule module(gpu, binary.code);
    const GpuFunction function = module.function(binary.function(), 0);
    loops_.push_back({name, is_double, std::move(module), function, launch, flops});
  };
  const double plain = thread_count * 2 * 16 * multiply_steps;
  add("fma f32", false, fmt::format("tilewright::gpu_multiply_plain<float, {}>", multiply_steps), plain);
  add("fma f64", true, fmt::format("tilewright::gpu_multiply_plain<double, {}>", multiply_steps), plain);
  const int rows = limits.compute_capability >= 90 ? 16 : 8;
  if (limits.compute_capability >= 80)
    add("mma f64", true, fmt::format("tilewright::gpu_multiply_tensor<{}, {}>", rows, multiply_steps),
        thread_count / 32 * (2.0 * rows * 8 * 4) * 8 * multiply_steps);
}

void GpuMultiplies::launch(const Loop& loop, void* scratch, CUstream_st* stream) {
  // The loops multiply by about 1, so that no chain leaves the range of numbers that are fast everywhere.
  double x = 0.999, y = 1e-3;
  float x32 = 0.999f, y32 = 1e-3f;
  void* arguments[3] = {&scratch, loop.is_double ? static_cast<void*>(&x) : &x32,
                        loop.is_double ? static_cast<void*>(&y) : &y32};
  loop.function.launch_with(loop.launch, arguments, stream);
}

}  // namespace tilewright
