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

class InfoReport {
 public:
  // Throws when the mode needs codes and there are none. In the modes that report all codes are set to 0.
  InfoReport(const BatchInfo& info, std::int64_t problem_count, std::int64_t group_count,
             CountedIn counted = CountedIn::groups);

  bool reports() const { return info_.mode != InfoMode::none; }

  // One problem of the batch is bad: notes its code, or throws Error with the problem's number.
  void problem(std::int64_t problem_index, std::int64_t group_index, const Fault& fault);
  // All problems of a group are bad, which begin at first_index.
  void group(std::int64_t first_index, std::int64_t problem_count, std::int64_t group_index,
             const Fault& fault);

 private:
  void note(std::int64_t code_index, int code);

  BatchInfo info_;
  bool several_groups_;
  CountedIn counted_;
};

// The same for operands in device memory: codes lie there too and are written in the order of the stream, so
// that what kernels find later is added to what the host found.
class DeviceReport {
 public:
  // Throws when the mode needs codes and there are none.
  DeviceReport(Context::Impl& context, const GemmOptions& options, const BatchInfo& info,
               std::int64_t problem_count, std::int64_t group_count);

  bool reports() const { return info_.mode != InfoMode::none; }

  // All problems of a group are bad, which begin at first_index. Throws Error where nothing reports.
  void group(std::int64_t first_index, std::int64_t problem_count, std::int64_t group_index,
             const Fault& fault);
  // Queues zeros for all codes and then what the host found.
  void write() const;
  // Where the kernel of a group's problems notes codes.
  void direct(Operands& operands, std::int64_t first_index, std::int64_t group_index) const;

 private:
  struct Run {
    std::int64_t first, count;
    int code;
  };
  void fill(const Run& run) const;

  Context::Impl& context_;
  const GemmOptions& options_;
  BatchInfo info_;
  std::int64_t code_count_;
  bool several_groups_;
  std::vector<Run> found_;
};

}  // namespace tilewright
