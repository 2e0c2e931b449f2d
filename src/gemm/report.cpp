// The four modes of the Batched BLAS info array. A code is minus the number of the first bad argument.
#include "gemm/report.hpp"

#include <algorithm>

#include "core/quantity.hpp"
#include "core/refuse.hpp"

#if TILEWRIGHT_HAS_GPU
#include "gemm/device/machine.hpp"
#endif

namespace tilewright {

std::string group_name(std::int64_t group_index, std::int64_t first_index) {
  return fmt::format("group {} (from problem {})", group_index, first_index);
}

FaultReport::FaultReport(const BatchInfo& info, std::int64_t problem_count, std::int64_t group_count,
                         CountedIn counted)
    : info_(info), several_groups_(group_count > 1), counted_(counted) {
  refuse_unnamed("info", info.mode, InfoMode::any);
  if (!reports()) return;
  code_count_ = info.mode == InfoMode::all ? problem_count : info.mode == InfoMode::group ? group_count : 1;
  if (info.codes == nullptr && code_count_ > 0)
    refuse_argument("info",
                    "info.codes is null, but its mode reports " + tilewright::counted(code_count_, "code"));
}

void FaultReport::problem(std::int64_t problem_index, std::int64_t group_index, const Fault& fault) {
  if (reports()) return note({index_of(problem_index, group_index), 1, -fault.blas_number});
  refuse_argument(fault.argument, fmt::format("problem {}: {}", problem_index, fault.message), problem_index);
}

void FaultReport::group(std::int64_t first_index, std::int64_t problem_count, std::int64_t group_index,
                        const Fault& fault) {
  if (reports())
    return note({index_of(first_index, group_index), info_.mode == InfoMode::all ? problem_count : 1,
                 -fault.blas_number});
  if (counted_ == CountedIn::problems) problem(first_index, group_index, fault);
  if (!several_groups_) refuse_argument(fault.argument, fault.message);
  refuse_argument(fault.argument, fmt::format("{}: {}", group_name(group_index, first_index), fault.message),
                  first_index);
}

InfoReport::InfoReport(const BatchInfo& info, std::int64_t problem_count, std::int64_t group_count,
                       CountedIn counted)
    : FaultReport(info, problem_count, group_count, counted) {
  std::fill_n(info.codes, code_count_, 0);
}

void InfoReport::note(const Run& run) {
  for (std::int64_t i = run.first; i < run.first + run.count; ++i)
    if (info_.codes[i] == 0) info_.codes[i] = run.code;
}

void DeviceReport::note(const Run& run) {
  if (info_.mode != InfoMode::any || found_.empty()) found_.push_back(run);
}

void DeviceReport::write() const {
  fill({0, code_count_, 0});
  for (const Run& run : found_) fill(run);
}

void DeviceReport::direct(Operands& o, std::int64_t first_index, std::int64_t group_index) const {
  if (!reports()) return;
  o.info_step = info_.mode == InfoMode::all ? 1 : 0;
  o.info = info_.codes + index_of(first_index, group_index);
}

void DeviceReport::fill(const Run& run) const {
  if (run.count == 0) return;
#if TILEWRIGHT_HAS_GPU
  context_.gpus->open(options_.queue.device)
      ->gpu()
      .fill(info_.codes + run.first, &run.code, sizeof run.code, run.count, options_.queue.stream);
#else
  throw Error(ErrorCode::unsupported, "location", "location = device: this build has no GPU runtime");
#endif
}

}  // namespace tilewright
