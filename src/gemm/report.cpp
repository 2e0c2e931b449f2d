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
  refuse_unnamed("info", info.mode, InfoMode::none);
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

[[noreturn]] void refuse_group(bool several_groups, std::int64_t first_index, std::int64_t group_index,
                               const Fault& fault) {
  if (!several_groups) throw Error(ErrorCode::invalid_argument, fault.argument, fault.message);
  throw Error(ErrorCode::invalid_argument, fault.argument,
              fmt::format("{}: {}", group_name(group_index, first_index), fault.message), first_index);
}

}  // namespace

std::string group_name(std::int64_t group_index, std::int64_t first_index) {
  return fmt::format("group {} (from problem {})", group_index, first_index);
}

InfoReport::InfoReport(const BatchInfo& info, std::int64_t problem_count, std::int64_t group_count,
                       CountedIn counted)
    : info_(info), several_groups_(group_count > 1), counted_(counted) {
  std::fill_n(info.codes, code_count(info, problem_count, group_count), 0);
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
      if (counted_ == CountedIn::problems) problem(first_index, group_index, fault);
      break;
  }
  refuse_group(several_groups_, first_index, group_index, fault);
}

void InfoReport::note(std::int64_t code_index, int code) {
  if (info_.codes[code_index] == 0) info_.codes[code_index] = code;
}

DeviceReport::DeviceReport(Context::Impl& context, const GemmOptions& options, const BatchInfo& info,
                           std::int64_t problem_count, std::int64_t group_count)
    : context_(context),
      options_(options),
      info_(info),
      code_count_(code_count(info, problem_count, group_count)),
      several_groups_(group_count > 1) {}

void DeviceReport::group(std::int64_t first_index, std::int64_t problem_count, std::int64_t group_index,
                         const Fault& fault) {
  const int code = -fault.blas_number;
  switch (info_.mode) {
    case InfoMode::all:
      return found_.push_back({first_index, problem_count, code});
    case InfoMode::group:
      return found_.push_back({group_index, 1, code});
    case InfoMode::any:
      if (found_.empty()) found_.push_back({0, 1, code});
      return;
    case InfoMode::none:
      break;
  }
  refuse_group(several_groups_, first_index, group_index, fault);
}

void DeviceReport::write() const {
  fill({0, code_count_, 0});
  for (const Run& run : found_) fill(run);
}

void DeviceReport::direct(Operands& o, std::int64_t first_index, std::int64_t group_index) const {
  if (!reports()) return;
  o.info_step = info_.mode == InfoMode::all ? 1 : 0;
  o.info = info_.codes + (info_.mode == InfoMode::all     ? first_index
                          : info_.mode == InfoMode::group ? group_index
                                                          : 0);
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
