// Implements partitions by green contexts. Any refusal of the driver means that there is no partition, since
// a partition only ever improves speed.
#include "device/gpu/partition.hpp"

#include "device/gpu/driver.hpp"

namespace tilewright {

#if CUDA_VERSION >= 12040

std::unique_ptr<GpuPartition> GpuPartition::make(const Gpu& gpu, int multiprocessors) {
  const GpuDriver& driver = gpu.driver();
  const bool is_there = driver.device_resource != nullptr && driver.split_multiprocessors != nullptr &&
                        driver.describe_resource != nullptr && driver.partition_create != nullptr &&
                        driver.partition_destroy != nullptr && driver.partition_stream_create != nullptr;
  if (!is_there || multiprocessors < 1 || multiprocessors >= gpu.limits().multiprocessors) return nullptr;
  const Gpu::Current current(gpu);
  CUdevice device = 0;
  CUdevResource all{}, part{}, rest{};
  CUdevResourceDesc description{};
  CUgreenCtx context = nullptr;
  unsigned groups = 1;
  const bool made =
      driver.device(&device, gpu.device()) == CUDA_SUCCESS &&
      driver.device_resource(device, &all, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS &&
      driver.split_multiprocessors(&part, &groups, &all, &rest, 0, unsigned(multiprocessors)) ==
          CUDA_SUCCESS &&
      groups == 1 && driver.describe_resource(&description, &part, 1) == CUDA_SUCCESS &&
      driver.partition_create(&context, description, device, CU_GREEN_CTX_DEFAULT_STREAM) == CUDA_SUCCESS;
  if (!made) return nullptr;
  return std::unique_ptr<GpuPartition>(new GpuPartition(gpu, context, int(part.sm.smCount)));
}

GpuPartition::~GpuPartition() { gpu_.driver().partition_destroy(context_); }

GpuStream::GpuStream(const Gpu& gpu, const GpuPartition& partition) : gpu_(&gpu) {
  const GpuDriver& driver = gpu.driver();
  driver.check(driver.partition_stream_create(&stream_, partition.context(), CU_STREAM_NON_BLOCKING, 0),
               "cuGreenCtxStreamCreate");
}

#else

std::unique_ptr<GpuPartition> GpuPartition::make(const Gpu&, int) { return nullptr; }
GpuPartition::~GpuPartition() = default;
GpuStream::GpuStream(const Gpu& gpu, const GpuPartition&) : GpuStream(gpu) {}

#endif

}  // namespace tilewright
