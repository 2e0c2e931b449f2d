// Groups, layouts and the reports that info asks for, which the names of the Batched BLAS standard share
// (Dongarra 2017; NLAFET/BBLAS).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "blas/arguments.hpp"

namespace tilewright::blas {

// The values of info[0] on entry.
enum class Report : int { all = 0, group = 1, any = 2, none = 3 };

struct StandardInfo {
  Report report;
  int* codes;
  std::int64_t group_count, problem_count;

  std::int64_t count() const {
    return report == Report::all ? problem_count : report == Report::group ? group_count : 1;
  }
  void fill(int code) const {
    if (report != Report::none) std::fill_n(codes, std::max<std::int64_t>(1, count()), code);
  }
  // Clears the codes before put() tells what is wrong; info[0] is then 0 if nothing is.
  void begin() const { std::fill_n(codes, report == Report::none ? 1 : count(), 0); }
  // Tells the code of a problem; of a group or a call the first code that is not 0 stays.
  void put(std::int64_t group, std::int64_t problem, int code) const {
    if (report == Report::none || code == 0) return;
    int& reported = codes[report == Report::all ? problem : report == Report::group ? group : 0];
    if (reported == 0) reported = code;
  }
};

// Returns the report that is asked for; nothing if an argument that all these names have is bad, which it
// then tells. `info_code` is the position of info.
inline std::optional<StandardInfo> checked_groups(int group_count, const int* sizes, int layout, int* info,
                                                  int info_code) {
  constexpr int group_count_code = 1, group_sizes_code = 2, layout_code = 3;
  // The room for codes is unknown if info[0] is invalid.
  if (*info < int(Report::all) || *info > int(Report::none)) {
    *info = info_code;
    return std::nullopt;
  }
  StandardInfo wanted{Report(*info), info, group_count, 0};
  for (int g = 0; g < group_count; ++g) {
    if (sizes[g] < 0) {
      wanted.fill(group_sizes_code);
      return std::nullopt;
    }
    wanted.problem_count += sizes[g];
  }
  if (group_count < 0) {
    info[0] = group_count_code;
    return std::nullopt;
  }
  if (layout == row_major || layout == col_major) return wanted;
  wanted.fill(layout_code);
  return std::nullopt;
}

}  // namespace tilewright::blas
