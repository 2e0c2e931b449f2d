// The cases of bench factor: a routine on a batch of packed matrices of one order, with right sides where the
// routine has some.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/case.hpp"
#include "bench/family.hpp"
#include "tilewright/routine.hpp"

namespace tilewright::bench {

// The routines that the family measures.
inline constexpr Routine measured_routines[] = {Routine::potrf, Routine::getrf, Routine::posv, Routine::gesv,
                                                Routine::inv};

// Makes a case of `one`, whose problem has the type, the order m and the batch: 0 right sides for routines
// without any.
Case factor_case(Case one, Routine routine, std::int64_t nrhs);
Routine routine_of(const Case& c);
extern const CaseForm factor_form;

std::unique_ptr<Family> factor_family(const Plan& plan);

}  // namespace tilewright::bench
