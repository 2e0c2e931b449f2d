// Loads the streaming loops and computes their tiles.
#include "kernel/probe/stream.hpp"

#include <algorithm>
#include <exception>
#include <iterator>

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
  return way.stages == 0 ? 0 : static_cast<unsigned>((3 * way.bytes + 8) * way.stages);
}
StencilRequest request_of(const StreamWay& way, bool reads_c, int capability) {
  const std::string expression = way.stages == 0 ? fmt::format("tilewright::gpu_stream_plain<{}>", reads_c)
                                                 : fmt::format("tilewright::gpu_stream_bulk<{}, {}, {}, {}>",
                                                               reads_c, way.bytes, way.stages, way.threads);
  return {"kernel/probe/stream.cuh", {expression}, "", capability};
}

}  // namespace

GpuStreams::GpuStreams(const Gpu& gpu, const StencilCompiler& compiler) {
  const int capability = gpu.limits().compute_capability;
  constexpr int first_with_bulk_copies = 90;
  const int count = capability >= first_with_bulk_copies ? int(std::size(stream_ways)) : 1;
  std::vector<JitBinary> binaries(std::size_t(2 * count));
  std::exception_ptr failed;
#pragma omp parallel for schedule(dynamic)
  for (int i = 0; i < 2 * count; ++i) try {
      binaries[std::size_t(i)] = compiler.compile(request_of(stream_ways[i / 2], i % 2 == 1, capability));
    } catch (...) {
#pragma omp critical
      failed = std::current_exception();
    }
  if (failed) std::rethrow_exception(failed);
  for (int i = 0; i < 2 * count; ++i) {
    const StreamWay& way = stream_ways[i / 2];
    GpuModule module(gpu, binaries[std::size_t(i)].code);
    const int shared = static_cast<int>(shared_bytes(way));
    GpuFunction function = module.function(binaries[std::size_t(i)].function(), shared);
    const int fit = std::max(1, function.blocks_per_multiprocessor(way.threads, shared));
    const GpuLaunch launch{static_cast<unsigned>(gpu.limits().multiprocessors * fit),
                           static_cast<unsigned>(way.threads), shared_bytes(way)};
    loops_[i % 2].push_back({name_of(way), std::move(module), function, launch, way.bytes});
  }
}

double GpuStreams::launch(const Loop& loop, const GpuStreamMix& mix, const void* a, const void* b, void* c,
                          CUstream_st* stream) {
  const double longest = std::max({mix.a_bytes, mix.b_bytes, mix.c_bytes});
  const auto doubles = [&](double bytes) {  // of an operand in one tile, rounded to 16 bytes
    return bytes == 0 ? 0 : std::max(2, 2 * static_cast<int>(loop.tile_bytes / 16 * (bytes / longest)));
  };
  GpuStreamArgs args{static_cast<const double*>(a), static_cast<const double*>(b),
                     static_cast<double*>(c),       static_cast<long long>(longest / loop.tile_bytes),
                     doubles(mix.a_bytes),          doubles(mix.b_bytes),
                     doubles(mix.c_bytes),          loop.tile_bytes / 8};
  loop.function.launch(loop.launch, &args, stream);
  return 8.0 * double(args.tiles) * (args.a_count + args.b_count + (mix.reads_c ? 2 : 1) * args.c_count);
}

}  // namespace tilewright
