// What `tune` says of its results: sentences for people, and the JSON object of the measurement that each
// line of wisdom stands for.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "tune/tuner.hpp"

namespace tilewright::cli {

// One line for each constraint that cut something off the space, of more than `most` those that cut the most
// and one for the rest; "" where none did.
std::string removed_text(const std::vector<Removed>& removed, std::size_t most);

// With as many constraints as `most_cuts`.
void print_result(std::FILE* out, const TuneResult& result, std::size_t most_cuts);

// The record with the keys that every measurement of the command line has. What the record holds already
// stays as it is, so that the line is still one of wisdom.
nlohmann::json measured_line(const WisdomRecord& record);

}  // namespace tilewright::cli
