// Memory of the host for operands that GPUs take part in: pageable as malloc gives it, or pinned.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace tilewright::bench {

// `kind` is pageable or pinned. Throws Error(unsupported) for pinned memory where there is no GPU.
std::shared_ptr<void> host_memory(const std::string& kind, std::int64_t bytes);

}  // namespace tilewright::bench
