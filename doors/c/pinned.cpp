// Pinned memory behind the C interface.
#include "c_handles.hpp"
#include "tilewright/allocate.hpp"

struct tilewright_pinned {
  tilewright::PinnedBlock block;
};

namespace tilewright {
namespace {

template <class Make>
tilewright_status make_pinned(tilewright_context* context, tilewright_pinned** pinned, Make&& make) noexcept {
  if (pinned != nullptr) *pinned = nullptr;
  return with_context(context, [&](Context&) {
    if (pinned == nullptr) refuse("pinned", "pinned is null");
    *pinned = new tilewright_pinned{make()};
  });
}

}  // namespace
}  // namespace tilewright

using namespace tilewright;  // NOLINT: the functions below are the C names of what is above

tilewright_status tilewright_pinned_allocate(tilewright_context* context, int64_t bytes,
                                             tilewright_pinned** pinned) {
  return make_pinned(context, pinned, [&] { return allocate_pinned(bytes); });
}

tilewright_status tilewright_pinned_register(tilewright_context* context, void* data, int64_t bytes,
                                             tilewright_pinned** pinned) {
  return make_pinned(context, pinned, [&] { return register_pinned(data, bytes); });
}

void* tilewright_pinned_data(const tilewright_pinned* pinned) {
  return pinned == nullptr ? nullptr : pinned->block.data();
}

void tilewright_pinned_destroy(tilewright_pinned* pinned) { delete pinned; }
