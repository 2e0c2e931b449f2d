// Parses numbers as users write them in flags and in the environment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

// Reads a whole number of 64 bits, which may be written as 1e6; returns nothing for other text.
std::optional<std::int64_t> integer_from_text(std::string_view text);

// Reads "8GiB", "500MiB", "1.5 GB" without the space, or "8e9"; returns nothing unless it is a positive
// number of bytes.
std::optional<std::int64_t> bytes_from_text(const std::string& text);

// Reads "2" as the first two GPUs, "0,2" and "1," as these indices; returns nothing for other text.
std::optional<std::vector<int>> gpus_from_text(const std::string& text);

}  // namespace tilewright
