// The C functions by which a maker describes its arrays without Python's attributes: DLPack's exchange table
// (dlpack.h since 1.2, `__dlpack_c_exchange_api__`), as far as the package reads it. Its layout is DLPack's.
#pragma once

#include <cstdint>

namespace tilewright::python::dlpack {

struct Version {
  std::uint32_t major, minor;
};
struct Device {
  std::int32_t type, id;
};
struct DataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t *shape, *strides;  // strides may be null: packed by rows
  std::uint64_t byte_offset;
};

inline constexpr std::int32_t cpu = 1, cuda = 2, cuda_host = 3, cuda_managed = 13;
inline constexpr std::uint8_t real_code = 2, complex_code = 5;

struct Exchange {
  Version version;
  Exchange* older;
  void* allocate;
  void* from_array;
  void* to_array;
  int (*view)(void* array, Tensor* to);  // keeps nothing alive; may be null
  int (*stream)(std::int32_t device_type, std::int32_t device, void** stream);
};
inline constexpr const char* capsule_name = "dlpack_exchange_api";

}  // namespace tilewright::python::dlpack
