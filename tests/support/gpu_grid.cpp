// Makes the rows of covering designs and of full products.
#include "support/gpu_grid.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "support/covering.hpp"
#include "tilewright/types.hpp"

namespace tilewright::testing {
namespace {

using Rows = std::vector<std::vector<int>>;

Rows rows_of_designs(const std::vector<int>& level_counts, std::uint64_t design_count) {
  Rows rows;
  for (std::uint64_t seed = 1; seed <= design_count; ++seed)
    for (auto& row : covering_rows(level_counts, seed)) rows.push_back(std::move(row));
  return rows;
}

// Returns every `of`th row of the full product from number `first` on; the last factor's level changes first.
Rows rows_of_product(const std::vector<int>& level_counts, std::size_t first, std::size_t of) {
  Rows rows;
  std::vector<int> row(level_counts.size(), 0);
  bool more = true;
  for (std::size_t number = 0; more; ++number) {
    if (number % of == first) rows.push_back(row);
    more = false;
    for (std::size_t factor = row.size(); !more && factor-- > 0;) {
      more = ++row[factor] < level_counts[factor];
      if (!more) row[factor] = 0;
    }
  }
  return rows;
}

std::string part_of_grid() {
  const char* text = std::getenv("TILEWRIGHT_GPU_GRID");
  return text == nullptr ? "" : text;
}

}  // namespace

bool is_full_gpu_grid() { return part_of_grid() == "all"; }

Rows gpu_grid_rows(const std::vector<int>& level_counts) {
  const std::string part = part_of_grid();
  if (part.empty()) return rows_of_designs(level_counts, 3);
  if (part == "some") return rows_of_designs(level_counts, 1);
  if (part == "all") return rows_of_product(level_counts, 0, 1);
  std::size_t first = 0, of = 1;
  int read = 0;
  if (std::sscanf(part.c_str(), "%zu/%zu%n", &first, &of, &read) != 2 || std::size_t(read) != part.size() ||
      first >= of)
    throw Error(ErrorCode::invalid_argument, "TILEWRIGHT_GPU_GRID",
                fmt::format("TILEWRIGHT_GPU_GRID = '{}' is neither some, all nor of the form 0/3", part));
  return rows_of_product(level_counts, first, of);
}

}  // namespace tilewright::testing
