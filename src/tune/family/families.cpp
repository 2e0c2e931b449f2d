// The families that problems are searched among: a line for each.
#include "tune/family/family.hpp"

namespace tilewright {

const FamilyList& tune_families() {
  static const FamilyList families = {
    &gemm_small_cpu_family(),
#if TILEWRIGHT_HAS_GPU
    &gemm_small_family(),
    &gemm_large_family(),
#endif
  };
  return families;
}

GemmProblem searched_problem(GemmProblem problem) {
  if (problem.layout != Layout::grouped) return problem;
  problem.layout = Layout::pointer;
  return packed(problem);
}

const TuneFamily& family_for(const FamilyList& families, const GemmProblem& problem) {
  std::optional<Decline> refusal;
  for (const TuneFamily* family : families) {
    auto decline = family->declines(problem);
    if (!decline) return *family;
    if (!refusal || refusal->elsewhere) refusal = std::move(decline);
  }
  throw Error(refusal->code, refusal->argument, fmt::format("{}: {}", to_string(problem), refusal->reason));
}

}  // namespace tilewright
