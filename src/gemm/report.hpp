// Where a fault goes: into the caller's info codes in the modes that report, else into an Error. One place,
// so that every batched call reports alike (Dongarra 2017; NLAFET/BBLAS).
#pragma once

#include "gemm/validate.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright {

class InfoReport {
 public:
  // Throws when the mode needs codes and there are none. In the modes that report all codes are set to 0.
  InfoReport(const BatchInfo& info, std::int64_t problem_count, std::int64_t group_count);

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
};

}  // namespace tilewright
