// The family factor of `bench`: its own flags, and the cases that they make.
#include <algorithm>

#include "bench/factor/cases.hpp"
#include "factor/call.hpp"
#include "lists.hpp"
#include "operations/operation.hpp"
#include "peers/factor_loops.hpp"
#include "people/refusal.hpp"

namespace tilewright::cli {
namespace {

constexpr std::int64_t default_bytes = std::int64_t(32) << 20;  // of the matrices of a batch

// A case for each routine, in the order of the flag.
void complete_factor(const FamilyFlags& flags, bench::Plan& plan) {
  const std::string text = flags.own_value("--routine");
  const auto routines = parse_names<Routine>("--routine", text);
  for (const Routine routine : routines)
    if (std::ranges::find(bench::measured_routines, routine) == std::end(bench::measured_routines))
      refuse_value(
          "--routine", text,
          "names " + to_string(routine) + ", which is not measured: potrf, getrf, posv, gesv, inv are");
  const std::int64_t nrhs = parse_count("--nrhs", flags.own_value("--nrhs"), 1);
  std::vector<bench::Case> cases;
  for (bench::Case one : plan.cases) {
    GemmProblem& p = one.problem;
    if (plan.is_default_batch)
      p.batch_count = std::clamp<std::int64_t>(default_bytes / (p.m * p.m * size_bytes(p.dtype)), 1, 1 << 20);
    for (const Routine routine : routines) cases.push_back(bench::factor_case(one, routine, nrhs));
  }
  plan.cases = std::move(cases);
}

}  // namespace

const BenchFamily& factor_bench() {
  static const BenchFamily family{
      .name = "factor",
      .make = bench::factor_family,
      .sizes = "4,8,16,32,64",
      .edges = 1,
      .residencies = "cold",
      .unused = {"--op", "--layout", "--block", "--alpha", "--beta", "--pad-ld", "--pointer-order",
                 "--residency", "--arrival", "--numa", "--data", "--config", "--objective", "--counters",
                 "--record", "--learn"},
      .peers = peers::factor_loop_names,
      .own = {{"--routine", "factor: a list of potrf, getrf, posv, gesv, inv", "potrf,getrf,posv,gesv,inv"},
              {"--nrhs", "factor: right sides of posv and gesv", "1"}},
      .form = &bench::factor_form,
      .complete = complete_factor};
  return family;
}

}  // namespace tilewright::cli
