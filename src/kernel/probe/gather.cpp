// Compiles and launches the gathering loop.
#include "kernel/probe/gather.hpp"

#include <algorithm>

#include "kernel/probe/gather_config.hpp"

namespace tilewright {
namespace {

constexpr int piece_bytes = 16;

int pieces(int bytes) {
  return (bytes + gpu_sector_bytes - 1) / gpu_sector_bytes * (gpu_sector_bytes / piece_bytes);
}

JitBinary compiled(const StencilCompiler& compiler, const GpuGather::Sizes& s, int capability) {
  return compiler.compile({"kernel/probe/gather.cuh",
                           {fmt::format("tilewright::gpu_gather<{}, {}, {}, {}>", pieces(s.a), pieces(s.b),
                                        pieces(s.c), s.reads_c)},
                           "",
                           capability});
}

}  // namespace

GpuGather::GpuGather(const Gpu& gpu, const StencilCompiler& compiler, const Sizes& sizes)
    : GpuGather(gpu, compiled(compiler, sizes, gpu.limits().compute_capability), sizes) {}

GpuGather::GpuGather(const Gpu& gpu, const JitBinary& binary, const Sizes& sizes)
    : module_(gpu, binary.code),
      function_(module_.function(binary.function(), 0)),
      most_pieces_(std::max({pieces(sizes.a), pieces(sizes.b), pieces(sizes.c)})),
      multiprocessors_(gpu.limits().multiprocessors) {}

void GpuGather::launch(std::size_t way, const void* a, const void* b, const void* c, std::int64_t count,
                       CUstream_st* stream) const {
  const std::int64_t all = (count * most_pieces_ + gpu_gather_threads - 1) / gpu_gather_threads;
  constexpr int blocks_each = 16;
  const std::int64_t resident = std::int64_t(multiprocessors_) * blocks_each;
  constexpr std::int64_t most_blocks = 2147483647;
  const std::int64_t blocks = std::min({all, way == 0 ? resident : most_blocks});
  GpuGatherArgs args{static_cast<const void* const*>(a), static_cast<const void* const*>(b),
                     static_cast<void* const*>(const_cast<void*>(c)), static_cast<long long>(count)};
  function_.launch({static_cast<unsigned>(std::max<std::int64_t>(1, blocks)), gpu_gather_threads, 0}, &args,
                   stream);
}

}  // namespace tilewright
