// The four modes of the Batched BLAS info array. A code is minus the number of the bad argument; of several
// faults that share a code the first found stays.
#include "gemm/report.hpp"

#include <algorithm>

#include "core/refuse.hpp"

#if TILEWRIGHT_HAS_GPU
#include "gemm/device/machine.hpp"
#endif

namespace tilewright {
namespace {

// Throws where they are needed and missing.
std::int64_t code_count(const BatchInfo& info, std::int64_t problem_count, std::int64_t group_count) {
  refuse_unnamed("info", info.mode, InfoMode::any);
  if (info.mode == InfoMode::none) return 0;
  const std::int64_t count = info.mode == InfoMode::all     ? problem_count
                             : info.mode == InfoMode::group ? group_count
                                                            : 1;
  if (info.codes == nullptr && count > 0)
    throw Error(
        ErrorCode::invalid_argument, "info",
        fmt::format("info.codes is null but its mode reports {} code{}", count, count == 1 ? "" : "s"));
  return count;
}

}  // namespace

std::string group_name(std::int64_t group_index, std::int64_t first_index) {
  return fmt::format("group {} (from problem {})", group_index, first_index);
}

FaultReport::FaultReport(const BatchInfo& info, std::int64_t problem_count, std::int64_t group_count)
    : info_(info),
      code_count_(code_count(info, problem_count, group_count)),
      several_groups_(group_count > 1) {}

FaultReport::Run FaultReport::run_of(std::int64_t first_index, std::int64_t problem_count,
                                     std::int64_t group_index, const Fault& fault) const {
  return {index_of(first_index, group_index), info_.mode == InfoMode::all ? problem_count : 1,
          -fault.blas_number};
}

void FaultReport::refuse_group(std::int64_t first_index, std::int64_t group_index, const Fault& fault) const {
  if (!several_groups_) throw Error(ErrorCode::invalid_argument, fault.argument, fault.message);
  throw Error(ErrorCode::invalid_argument, fault.argument,
              fmt::format("{}: {}", group_name(group_index, first_index), fault.message), first_index);
}

InfoReport::InfoReport(const BatchInfo& info, std::int64_t problem_count, std::int64_t group_count,
                       CountedIn counted)
    : FaultReport(info, problem_count, group_count), counted_(counted) {
  std::fill_n(info.codes, code_count_, 0);
}

void InfoReport::problem(std::int64_t problem_index, std::int64_t group_index, const Fault& fault) {
  if (reports()) return note(run_of(problem_index, 1, group_index, fault));
  throw Error(ErrorCode::invalid_argument, fault.argument,
              fmt::format("problem {}: {}", problem_index, fault.message), problem_index);
}

void InfoReport::group(std::int64_t first_index, std::int64_t problem_count, std::int64_t group_index,
                       const Fault& fault) {
  if (reports()) return note(run_of(first_index, problem_count, group_index, fault));
  if (counted_ == CountedIn::problems) problem(first_index, group_index, fault);
  refuse_group(first_index, group_index, fault);
}

void InfoReport::note(const Run& run) {
  for (std::int64_t i = run.first; i < run.first + run.count; ++i)
    if (info_.codes[i] == 0) info_.codes[i] = run.code;
}

void DeviceReport::group(std::int64_t first_index, std::int64_t problem_count, std::int64_t group_index,
                         const Fault& fault) {
  if (!reports()) refuse_group(first_index, group_index, fault);
  if (info_.mode == InfoMode::any && !found_.empty()) return;
  found_.push_back(run_of(first_index, problem_count, group_index, fault));
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
