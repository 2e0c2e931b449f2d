// Loads and launches the multiply-add loops.
#include "kernel/probe/multiply.hpp"

namespace tilewright {
namespace {

constexpr int turns = 4096, threads = 256;
constexpr int blocks_per_multiprocessor = 8;

}  // namespace

GpuMultiplies::GpuMultiplies(const Gpu& gpu, const StencilCompiler& compiler) {
  const GpuLimits& limits = gpu.limits();
  const GpuLaunch launch{static_cast<unsigned>(limits.multiprocessors * blocks_per_multiprocessor), threads,
                         0};
  const double thread_count = double(launch.blocks) * threads;
  const auto add = [&](const std::string& name, bool is_double, const std::string& expression, double flops) {
    const JitBinary binary =
        compiler.compile({"kernel/probe/multiply.cuh", {expression}, "", limits.compute_capability});
    GpuModule module(gpu, binary.code);
    const GpuFunction function = module.function(binary.function(), 0);
    loops_.push_back({name, is_double, std::move(module), function, launch, flops});
  };
  const double plain = thread_count * 2 * 16 * turns;
  add("fma f32", false, fmt::format("tilewright::gpu_multiply_plain<float, {}>", turns), plain);
  add("fma f64", true, fmt::format("tilewright::gpu_multiply_plain<double, {}>", turns), plain);
  const int rows = limits.compute_capability >= 90 ? 16 : 8;
  if (limits.compute_capability >= 80)
    add("mma f64", true, fmt::format("tilewright::gpu_multiply_tensor<{}, {}>", rows, turns),
        thread_count / 32 * (2.0 * rows * 8 * 4) * 8 * turns);
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
