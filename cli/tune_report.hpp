// What `tune` says of its results: sentences for people, and the JSON object of the measurement that each
// line of wisdom stands for.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernel/gemm_small_cpu/kernel.hpp"
#include "tune/layout_tuner.hpp"
#include "tune/search_loop.hpp"

namespace tilewright::cli {

// The fields in which the winner differs from the default, both by name.
std::string difference(const nlohmann::json& winner, const nlohmann::json& standard);

// One line for each constraint that cut something off the space, of more than `most` those that cut the most
// and one for the rest; "" where none did.
std::string removed_text(const std::vector<Removed>& removed, std::size_t most);

// A search on the CPU or on a GPU.
void print_outcome(std::FILE* out, const SearchOutcome& outcome, const std::string& winner,
                   const std::string& removed);
void print_result(std::FILE* out, const LayoutTuneResult& result, const std::string& removed);

// The record with the keys that every measurement of the command line has. What the record holds already
// stays as it is, so that the line is still one of wisdom.
nlohmann::json measured_line(const nlohmann::json& record);

}  // namespace tilewright::cli
