// Numbers as users write them in flags and in the environment, and as reports write them for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

// Reads a whole number of 64 bits, which may be written as 1e6; returns nothing for other text.
std::optional<std::int64_t> integer_from_text(std::string_view text);

// Reads "8GiB", "500MiB", "1.5 GB" without the space, or "8e9"; nothing unless it is positive.
std::optional<std::int64_t> bytes_from_text(const std::string& text);

// Reads "2" as the first two GPUs, "0,2" and "1," as these indices; returns nothing for other text.
std::optional<std::vector<int>> gpus_from_text(const std::string& text);

// Returns "12.3 us", "1.43 GiB", "1.02 GFLOP", "1 problem" or "2 problems".
std::string seconds_text(double seconds);
std::string bytes_text(double bytes);
std::string flops_text(double flops);
std::string counted(std::int64_t count, std::string_view what);

// Returns a number with so many significant digits, and all digits of a larger one: "16.32", "56047".
std::string digits_text(double value, int digits = 4);

}  // namespace tilewright
