// Finds sources and cache where calls find them.
#include "tune/gpu/machine.hpp"

#include "core/env.hpp"
#include "core/share.hpp"

namespace tilewright {
namespace {

StencilCompiler usual_compiler() {
  const Environment environment = Environment::read();
  const std::string cache = cache_folder(environment);
  return StencilCompiler(share_folder(environment, "kernel"),
                         cache.empty() ? std::filesystem::path() : std::filesystem::path(cache) / "kernels",
                         environment.nvrtc);
}

int new_enough(int device) {
  if (const std::string reason = why_too_old(Gpu::limits_of(device)); !reason.empty())
    throw Error(ErrorCode::unsupported, "device", reason);
  return device;
}

}  // namespace

TuneGpu::TuneGpu(int device, std::size_t operand_bytes)
    : gpu_(new_enough(device)),
      compiler_(usual_compiler()),
      other_users_(gpu_.limits().uuid),
      arena_(gpu_, operand_bytes) {}

}  // namespace tilewright
