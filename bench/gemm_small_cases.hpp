// The cases that bench_gemm_small measures, by name of their group: lists, no measuring.
#pragma once

#include <string>
#include <vector>

#include "measure/small_batch.hpp"

namespace tilewright::bench {

struct CaseOptions {
  std::vector<DType> dtypes;
  std::vector<int> sizes;  // of squares
  std::vector<int> betas;
  std::size_t bytes = 0;  // per operand
};

struct NamedCase {
  std::string group;
  SmallCase one;  // problem.batch_count says how many
};

// Groups: strided, pointer, variable, interleaved, large, rectangular, transposed, padded, scalars, few.
// Throws Error for a name that is none of them.
std::vector<NamedCase> cases_of(const std::string& group, const CaseOptions& options);

// A random problem of any layout for checks.
SmallCase any_case(DType dtype, std::mt19937& random);

}  // namespace tilewright::bench
