// Pins memory through the driver of the first usable GPU, for all GPUs.
#include <fmt/format.h>

#include "tilewright/allocate.hpp"
#include "tilewright/types.hpp"

#if TILEWRIGHT_HAS_GPU
#include "device/gpu/copies.hpp"
#include "device/gpu/gpu.hpp"
#endif

namespace tilewright {
namespace {

void check(std::int64_t bytes) {
  if (bytes < 1)
    throw Error(ErrorCode::invalid_argument, "bytes", fmt::format("bytes = {} is below 1", bytes));
}

#if TILEWRIGHT_HAS_GPU
std::unique_ptr<Gpu> first_gpu() {
  std::string reason;
  if (Gpu::count(reason) == 0)
    throw Error(ErrorCode::unsupported, "gpu", "there is no GPU to pin memory for: " + reason);
  return std::make_unique<Gpu>(0);
}

// Keeps the GPU alive as long as the memory that was pinned through it.
template <class Memory>
struct Held {
  std::unique_ptr<Gpu> gpu;
  Memory memory;
};
#else
[[noreturn]] void refuse() {
  throw Error(ErrorCode::unsupported, "gpu", "this build has no GPU runtime to pin memory with");
}
#endif

}  // namespace

inline namespace v0_2 {
#if TILEWRIGHT_HAS_GPU
PinnedBlock allocate_pinned(std::int64_t bytes) {
  check(bytes);
  auto gpu = first_gpu();
  const Gpu& used = *gpu;
  const std::shared_ptr<Held<PinnedBuffer>> held(
      new Held<PinnedBuffer>{std::move(gpu), PinnedBuffer(used, std::size_t(bytes))});
  return {std::shared_ptr<void>(held, held->memory.data()), bytes};
}

PinnedBlock register_pinned(void* data, std::int64_t bytes) {
  check(bytes);
  if (data == nullptr) throw Error(ErrorCode::invalid_argument, "data", "data is null");
  auto gpu = first_gpu();
  if (is_pinned_memory(*gpu, data, 1))
    throw Error(ErrorCode::invalid_argument, "data", "data is pinned already");
  const Gpu& used = *gpu;
  const std::shared_ptr<Held<RegisteredMemory>> held(
      new Held<RegisteredMemory>{std::move(gpu), {used, data, std::size_t(bytes)}});
  return {std::shared_ptr<void>(held, data), bytes};
}
#else
PinnedBlock allocate_pinned(std::int64_t bytes) {
  check(bytes);
  refuse();
}
PinnedBlock register_pinned(void*, std::int64_t bytes) {
  check(bytes);
  refuse();
}
#endif
}  // namespace v0_2

}  // namespace tilewright
