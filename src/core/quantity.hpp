// Numbers as users write them in flags and in the environment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

// A whole number of 64 bits, which may be written as 1e6; nothing where it is none.
std::optional<std::int64_t> integer_from_text(std::string_view text);

// "8GiB", "500MiB", "1.5 GB" without the space, "8e9"; nothing where it is no positive number of bytes.
std::optional<std::int64_t> bytes_from_text(const std::string& text);

// "2": the first two; "0,2" and "1,": these. Nothing where it is neither.
std::optional<std::vector<int>> gpus_from_text(const std::string& text);

}  // namespace tilewright
