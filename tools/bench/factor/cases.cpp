// Names the cases of bench factor.
#include "bench/factor/cases.hpp"

#include <fmt/format.h>

#include "core/fields.hpp"
#include "factor/call.hpp"

namespace tilewright::bench {
namespace {

std::string factor_text(const Case& c) {
  const GemmProblem& p = c.problem;
  return fmt::format("{}:{}:n={}{},batch={}", c.routine, to_string(p.dtype), p.m,
                     p.k > 0 ? fmt::format(",nrhs={}", p.k) : "", p.batch_count);
}

nlohmann::json factor_keys(const Case& c) {
  const GemmProblem& p = c.problem;
  nlohmann::json keys = {{"family", "factor"},
                         {"problem", factor_text(c)},
                         {"routine", c.routine},
                         {"dtype", to_string(p.dtype)},
                         {"m", p.m},
                         {"n", p.m},
                         {"nrhs", p.k},
                         {"lda", p.m},
                         {"layout", "strided"},
                         {"batch_count", p.batch_count},
                         {"location", "host"},
                         {"memory", "pageable"},
                         {"threads", c.threads},
                         {"target", "cpu"},
                         {"data", to_string(c.data)}};
  for (const char* none :
       {"op", "k", "ldb", "ldc", "alpha", "beta", "residency", "arrival", "pointer_order", "numa"})
    keys[none] = nullptr;
  return keys;
}

}  // namespace

Case factor_case(Case one, Routine routine, std::int64_t nrhs) {
  one.routine = to_string(routine);
  one.problem.k = routine == Routine::posv || routine == Routine::gesv ? nrhs : 0;
  return one;
}

Routine routine_of(const Case& c) { return enum_from_string<Routine>(c.routine, "routine"); }

constinit const CaseForm factor_form{factor_text, factor_keys};

}  // namespace tilewright::bench
