// Passes the description of a matrix to the driver's encoder.
#include "device/gpu/tensor_map.hpp"

#include <fmt/format.h>

#include "device/gpu/driver.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

void encode_tensor_map(const Gpu& gpu, const GpuTensor& t, void* map) {
  const GpuDriver& driver = gpu.driver();
  if (driver.tensor_map_encode == nullptr)
    throw Error(ErrorCode::unsupported, "driver",
                "the GPU driver is too old: it has no cuTensorMapEncodeTiled");
  const cuuint64_t sizes[] = {t.inner, t.outer};
  const cuuint64_t strides[] = {t.stride_bytes};
  const cuuint32_t box[] = {t.box_inner, t.box_outer};
  const cuuint32_t steps[] = {1, 1};
  const CUresult result = driver.tensor_map_encode(
      static_cast<CUtensorMap*>(map),
      t.type == GpuTensorType::f64 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT64 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2,
      const_cast<void*>(t.address), sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      t.swizzled ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    driver.check(result, "cuTensorMapEncodeTiled",
                 fmt::format("{} x {} elements, columns {} bytes apart, boxes of {} x {}", t.inner, t.outer,
                             t.stride_bytes, t.box_inner, t.box_outer));
}

}  // namespace tilewright
