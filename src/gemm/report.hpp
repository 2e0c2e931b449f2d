// Where a fault goes: into the caller's info codes in the modes that report, else into an Error. One place,
// so that every batched call reports alike (Dongarra 2017; NLAFET/BBLAS).
#pragma once

#include <string>
#include <vector>

#include "core/product/faults.hpp"
#include "gemm/context_impl.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright {

// What a call's problems come in, as its caller knows them.
enum class CountedIn : std::uint8_t { groups, problems };

// Of one of several groups, by its first problem: "group 3 (from problem 20)".
std::string group_name(std::int64_t group_index, std::int64_t first_index);

class FaultReport {
 public:
  bool reports() const { return info_.mode != InfoMode::none; }

 protected:
  // Codes that one fault sets.
  struct Run {
    std::int64_t first, count;
    int code;
  };

  // Throws when the mode needs codes and there are none.
  FaultReport(const BatchInfo& info, std::int64_t problem_count, std::int64_t group_count);
  // In the modes that report: where the code of a problem lies, and what a fault of several sets.
  std::int64_t index_of(std::int64_t problem_index, std::int64_t group_index) const {
    return info_.mode == InfoMode::all ? problem_index : info_.mode == InfoMode::group ? group_index : 0;
  }
  Run run_of(std::int64_t first_index, std::int64_t problem_count, std::int64_t group_index,
             const Fault& fault) const;
  [[noreturn]] void refuse_group(std::int64_t first_index, std::int64_t group_index,
                                 const Fault& fault) const;

  BatchInfo info_;
  std::int64_t code_count_;
  bool several_groups_;
};

class InfoReport : public FaultReport {
 public:
  // In the modes that report all codes are set to 0.
  InfoReport(const BatchInfo& info, std::int64_t problem_count, std::int64_t group_count,
             CountedIn counted = CountedIn::groups);

  // One problem of the batch is bad: notes its code, or throws Error with the problem's number.
  void problem(std::int64_t problem_index, std::int64_t group_index, const Fault& fault);
  // All problems of a group are bad, which begin at first_index.
  void group(std::int64_t first_index, std::int64_t problem_count, std::int64_t group_index,
             const Fault& fault);

 private:
  void note(const Run& run);

  CountedIn counted_;
};

// The same for operands in device memory: codes lie there too and are written in the order of the stream, so
// that what kernels find later is added to what the host found.
class DeviceReport : public FaultReport {
 public:
  DeviceReport(Context::Impl& context, const GemmOptions& options, const BatchInfo& info,
               std::int64_t problem_count, std::int64_t group_count)
      : FaultReport(info, problem_count, group_count), context_(context), options_(options) {}

  // All problems of a group are bad, which begin at first_index. Throws Error where nothing reports.
  void group(std::int64_t first_index, std::int64_t problem_count, std::int64_t group_index,
             const Fault& fault);
  // Queues zeros for all codes and then what the host found.
  void write() const;
  // Where the kernel of a group's problems notes codes.
  void direct(Operands& operands, std::int64_t first_index, std::int64_t group_index) const;

 private:
  void fill(const Run& run) const;

  Context::Impl& context_;
  const GemmOptions& options_;
  std::vector<Run> found_;
};

}  // namespace tilewright
