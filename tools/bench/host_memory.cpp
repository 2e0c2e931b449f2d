// Holds both kinds of memory behind one pointer.
#include "bench/host_memory.hpp"

#include "measure/buffers.hpp"
#include "tilewright/allocate.hpp"

namespace tilewright::bench {

std::shared_ptr<void> host_memory(const std::string& kind, std::int64_t bytes) {
  if (kind == "pinned") {
    const auto block = std::make_shared<PinnedBlock>(allocate_pinned(bytes));
    return {block, block->data()};
  }
  const auto buffer = std::make_shared<AlignedBuffer>(bytes);
  return {buffer, buffer->data()};
}

}  // namespace tilewright::bench
