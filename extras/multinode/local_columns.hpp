// Block-cyclic distribution of columns, or rows, over the members of a team.
#pragma once

#include <cstdint>

namespace tilewright {

// Returns how many of the columns before `column` belong to member `own` of `members`, where block j of `nb`
// columns belongs to member j mod members (ScaLAPACK's NUMROC with source 0).
constexpr std::int64_t local_columns(std::int64_t column, std::int64_t nb, std::int64_t own,
                                     std::int64_t members) {
  const std::int64_t blocks = column / nb, rest = column % nb;
  const std::int64_t whole = blocks / members * nb;
  const std::int64_t beyond = blocks % members - own;  // members before this one have one block more
  return whole + (beyond > 0 ? nb : beyond == 0 ? rest : 0);
}

}  // namespace tilewright
