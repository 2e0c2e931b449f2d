// Reports faults: into the caller's info codes in the modes that report, else as an Error. All batched calls
// report alike (Dongarra 2017; NLAFET/BBLAS).
#pragma once

#include <string>
#include <vector>

#include "core/product/faults.hpp"
#include "gemm/context_impl.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright {

// Unit in which the caller counts the problems of a call.
enum class CountedIn : std::uint8_t { groups, problems };

// Names one of several groups, by its first problem: "group 3 (from problem 20)".
std::string group_name(std::int64_t group_index, std::int64_t first_index);

class FaultReport {
 public:
  virtual ~FaultReport() = default;
  bool reports() const { return info_.mode != InfoMode::none; }

  // Notes the code of a bad problem, or throws Error with its number.
  void problem(std::int64_t problem_index, std::int64_t group_index, const Fault& fault);
  // The same for all problems of a group, which begin at first_index.
  void group(std::int64_t first_index, std::int64_t problem_count, std::int64_t group_index,
             const Fault& fault);

 protected:
  // The codes that one fault sets.
  struct Run {
    std::int64_t first, count;
    int code;
  };

  // Throws if the mode needs codes and there are none.
  FaultReport(const BatchInfo& info, std::int64_t problem_count, std::int64_t group_count, CountedIn counted);
  // Returns the index of a problem's code in the modes that report.
  std::int64_t index_of(std::int64_t problem_index, std::int64_t group_index) const {
    return info_.mode == InfoMode::all ? problem_index : info_.mode == InfoMode::group ? group_index : 0;
  }
  virtual void note(const Run& run) = 0;

  BatchInfo info_;
  std::int64_t code_count_ = 0;

 private:
  bool several_groups_;
  CountedIn counted_;
};

// Writes codes at once, after it has set all of them to 0.
class InfoReport : public FaultReport {
 public:
  InfoReport(const BatchInfo& info, std::int64_t problem_count, std::int64_t group_count,
             CountedIn counted = CountedIn::groups);

 private:
  void note(const Run& run) override;
};

// For operands in device memory: codes lie there too, in stream order; kernels add theirs to the host's.
class DeviceReport : public FaultReport {
 public:
  DeviceReport(Context::Impl& context, const GemmOptions& options, const BatchInfo& info,
               std::int64_t problem_count, std::int64_t group_count)
      : FaultReport(info, problem_count, group_count, CountedIn::groups),
        context_(context),
        options_(options) {}

  // Queues zeros for all codes and then the faults noted so far.
  void write() const;
  // Sets where the kernel of a group's problems notes codes.
  void direct(Operands& operands, std::int64_t first_index, std::int64_t group_index) const;

 private:
  void note(const Run& run) override;
  void fill(const Run& run) const;

  Context::Impl& context_;
  const GemmOptions& options_;
  std::vector<Run> found_;
};

}  // namespace tilewright
