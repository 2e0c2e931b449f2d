// Computes the steps of arrays, in bytes if strides split elements.
#include "overlap.hpp"

#include "arrays.hpp"
#include "operand.hpp"

namespace nb = nanobind;

namespace tilewright::python {

Footprint footprint_of(const char* name, nb::handle object) {
  const View view = view_of(name, object);
  Footprint to;
  to.address = reinterpret_cast<std::uintptr_t>(view.data);
  to.item = size_bytes(view.dtype);
  to.location = view.location, to.device = view.device, to.ndim = view.ndim;
  for (int i = 0; i < view.ndim; ++i) to.steps[i] = {view.shape[i], view.strides[i] * to.item};
  if (!view.regular && is_array(object.ptr()))
    for (int i = 0; i < view.ndim; ++i) to.steps[i].stride = stride_bytes(object.ptr(), i);
  return to;
}

void bind_overlap(nb::module_& module) {
  module.def(
      "repeats",
      [](nb::handle array) {
        const Footprint footprint = footprint_of("out", array);
        return repeats(footprint.dimensions(), footprint.item);
      },
      nb::arg("array"), "Returns True if elements of an array overlap.");
}

}  // namespace tilewright::python
