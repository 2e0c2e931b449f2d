// Allocates host memory for operands that GPUs use: pageable, from malloc, or pinned.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace tilewright::bench {

// `kind` is pageable or pinned. Throws Error(unsupported) for pinned memory if there is no GPU.
std::shared_ptr<void> host_memory(const std::string& kind, std::int64_t bytes);

}  // namespace tilewright::bench
