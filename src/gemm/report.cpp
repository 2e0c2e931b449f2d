// The four modes of the Batched BLAS info array. A code is minus the number of the bad argument; of several
// faults that share a code the first found stays.
#include "gemm/report.hpp"

#include <algorithm>

namespace tilewright {

InfoReport::InfoReport(const BatchInfo& info, std::int64_t problem_count, std::int64_t group_count)
    : info_(info), several_groups_(group_count > 1) {
  if (!reports()) return;
  const std::int64_t count = info.mode == InfoMode::all     ? problem_count
                             : info.mode == InfoMode::group ? group_count
                                                            : 1;
  if (info.codes == nullptr && count > 0)
    throw Error(
        ErrorCode::invalid_argument, "info",
        fmt::format("info.codes is null but its mode reports {} code{}", count, count == 1 ? "" : "s"));
  std::fill_n(info.codes, count, 0);
}

void InfoReport::problem(std::int64_t problem_index, std::int64_t group_index, const Fault& fault) {
  switch (info_.mode) {
    case InfoMode::all:
      return note(problem_index, -fault.blas_number);
    case InfoMode::group:
      return note(group_index, -fault.blas_number);
    case InfoMode::any:
      return note(0, -fault.blas_number);
    case InfoMode::none:
      break;
  }
  throw Error(ErrorCode::invalid_argument, fault.argument,
              fmt::format("problem {}: {}", problem_index, fault.message), problem_index);
}

void InfoReport::group(std::int64_t first_index, std::int64_t problem_count, std::int64_t group_index,
                       const Fault& fault) {
  switch (info_.mode) {
    case InfoMode::all:
      for (std::int64_t i = 0; i < problem_count; ++i) note(first_index + i, -fault.blas_number);
      return;
    case InfoMode::group:
      return note(group_index, -fault.blas_number);
    case InfoMode::any:
      return note(0, -fault.blas_number);
    case InfoMode::none:
      break;
  }
  if (!several_groups_) throw Error(ErrorCode::invalid_argument, fault.argument, fault.message);
  throw Error(ErrorCode::invalid_argument, fault.argument,
              fmt::format("group {} (from problem {}): {}", group_index, first_index, fault.message),
              first_index);
}

void InfoReport::note(std::int64_t code_index, int code) {
  if (info_.codes[code_index] == 0) info_.codes[code_index] = code;
}

}  // namespace tilewright
