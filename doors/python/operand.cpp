// Operands are checked here once; products rely on it.
#include "operand.hpp"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <memory>

#include "arrays.hpp"
#include "exchange.hpp"

namespace nb = nanobind;

namespace tilewright::python {
namespace {

void make_operand(Operand* to, std::uint64_t address, const std::string& dtype,
                  const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides,
                  std::optional<int> device, bool read_only) {
  if (shape.size() != strides.size() || shape.size() > std::size_t(View::most_dims))
    throw Error(ErrorCode::invalid_argument, "shape",
                "shape has " + std::to_string(shape.size()) + " dimensions and strides " +
                    std::to_string(strides.size()) + ": they must agree and be at most 64");
  View view;
  view.data = reinterpret_cast<char*>(address);
  view.dtype = parse_dtype(dtype);
  view.location = device ? Location::device : Location::host;
  view.device = device.value_or(0);
  view.read_only = read_only;
  view.regular = address % std::uint64_t(size_bytes(view.dtype)) == 0 ||
                 address % std::uint64_t(is_complex(view.dtype) ? size_bytes(view.dtype) / 2 : 1) == 0;
  view.ndim = int(shape.size());
  std::copy(shape.begin(), shape.end(), view.shape);
  std::copy(strides.begin(), strides.end(), view.strides);
  new (to) Operand{view};
}

// Reads DLPack's description of an array on a GPU: (address, dtype, shape, strides, device, read only,
// owner). The owner keeps the memory alive.
nb::tuple see_dlpack(nb::handle object) {
  auto seen = std::make_unique<nb::ndarray<nb::ro>>(nb::cast<nb::ndarray<nb::ro>>(object));
  const int place = seen->device_type();
  if (place != nb::device::cuda::value && place != nb::device::cuda_managed::value)
    throw Error(ErrorCode::invalid_argument, "array",
                "its capsule is on a device of type " + std::to_string(place) +
                    ", and __dlpack_device__ said that it is a GPU");
  const auto type = seen->dtype();
  const bool is_float = type.code == std::uint8_t(nb::dlpack::dtype_code::Float);
  const bool is_pair = type.code == std::uint8_t(nb::dlpack::dtype_code::Complex);
  std::string name = is_float ? "float" : is_pair ? "complex" : "type" + std::to_string(type.code) + "_";
  name += std::to_string(type.bits);
  nb::list shape, strides;
  for (std::size_t i = 0; i < seen->ndim(); ++i) {
    shape.append(seen->shape(i));
    strides.append(seen->stride(i));
  }
  const auto address = reinterpret_cast<std::uint64_t>(seen->data());
  const int device = seen->device_id();
  nb::capsule owner(seen.release(),
                    [](void* kept) noexcept { delete static_cast<nb::ndarray<nb::ro>*>(kept); });
  return nb::make_tuple(address, name, nb::tuple(shape), nb::tuple(strides), device, false, owner);
}

// Returns the address of the tensor in a capsule; None if it is not an unused capsule of DLPack.
std::optional<std::uint64_t> dlpack_address(nb::handle capsule) {
  struct Versioned {
    dlpack::Version version;
    void* context;
    void (*deleter)(Versioned*);
    std::uint64_t flags;
    dlpack::Tensor tensor;
  };
  const auto pointer = [&](const char* name) {
    return PyCapsule_IsValid(capsule.ptr(), name) != 0 ? PyCapsule_GetPointer(capsule.ptr(), name) : nullptr;
  };
  const auto* tensor = static_cast<const dlpack::Tensor*>(pointer("dltensor"));
  const auto* versioned = static_cast<const Versioned*>(pointer("dltensor_versioned"));
  if (versioned != nullptr && versioned->version.major == 1) tensor = &versioned->tensor;
  if (tensor == nullptr) return std::nullopt;
  return reinterpret_cast<std::uint64_t>(tensor->data);
}

// Repeats x for each problem of a batch: leading dimensions of stride 0 in front of its own.
Operand repeated(nb::handle x, const std::vector<std::int64_t>& batch) {
  View view = view_of("out", x);
  const int more = int(batch.size());
  if (view.ndim + more > View::most_dims)
    throw Error(ErrorCode::invalid_argument, "shape", "an array has more than 64 dimensions");
  std::copy_backward(view.shape, view.shape + view.ndim, view.shape + view.ndim + more);
  std::copy_backward(view.strides, view.strides + view.ndim, view.strides + view.ndim + more);
  std::copy(batch.begin(), batch.end(), view.shape);
  std::fill(view.strides, view.strides + more, 0);
  view.ndim += more;
  return {view};
}

}  // namespace

DType parse_dtype(const std::string& name) {
  if (name == "f32" || name == "float32") return DType::f32;
  if (name == "f64" || name == "float64") return DType::f64;
  if (name == "c64" || name == "complex64") return DType::c64;
  if (name == "c128" || name == "complex128") return DType::c128;
  throw Error(ErrorCode::invalid_argument, "dtype",
              "dtype = " + name + " is not one of float32, float64, complex64, complex128");
}

View view_of(const char* name, nb::handle object) {
  View view;
  if (is_array(object.ptr())) {
    if (!read_array(object.ptr(), view))
      throw Error(
          ErrorCode::invalid_argument, name,
          std::string(name) + " has elements that are not one of float32, float64, complex64, complex128");
    return view;
  }
  Operand* operand = nullptr;
  if (!nb::try_cast(object, operand) || operand == nullptr)
    throw Error(ErrorCode::invalid_argument, name,
                std::string(name) + " is neither a NumPy array nor an Operand");
  return operand->view;
}

void bind_operand(nb::module_& module) {
  nb::class_<Operand>(module, "Operand",
                      "An array in the memory of the host or of a GPU; keeps nothing alive.")
      .def("__init__", &make_operand, nb::arg("address"), nb::arg("dtype"), nb::arg("shape"),
           nb::arg("strides"), nb::arg("device") = nb::none(), nb::arg("read_only") = false,
           "Strides count elements. `device` is the number of a GPU; None is the host.")
      .def_prop_ro("address", [](const Operand& x) { return reinterpret_cast<std::uint64_t>(x.view.data); })
      .def_prop_ro("device", [](const Operand& x) -> std::optional<int> {
        if (x.view.location == Location::host) return std::nullopt;
        return x.view.device;
      });
  module.def("repeated", &repeated, nb::arg("operand"), nb::arg("batch"));
  module.def("dlpack_address", &dlpack_address, nb::arg("capsule"), "Where the tensor of a capsule begins.");
  module.def("see_dlpack", &see_dlpack, nb::arg("array"), "What DLPack tells of an array.");
}

}  // namespace tilewright::python
