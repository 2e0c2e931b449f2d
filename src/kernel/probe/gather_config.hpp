// What a launch of the gathering loop passes, and its block, read by the host compiler and by NVRTC alike.
#pragma once

namespace tilewright {

constexpr int gpu_gather_threads = 256;

// Device arrays of the addresses of matrices that begin at a sector.
struct GpuGatherArgs {
  const void* const* a;
  const void* const* b;
  void* const* c;
  long long count;
};

}  // namespace tilewright
