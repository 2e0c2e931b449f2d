// C interface of the LU whose columns are distributed over a team.
#include <complex>

#include "c/c_handles.hpp"
#include "c/lu_options.hpp"
#include "core/dispatch.hpp"
#include "core/refuse.hpp"
#include "tilewright/multinode.hpp"
#include "tilewright/tilewright_multinode.h"

namespace tilewright {
namespace {

LuTeam to_team(const tilewright_lu_team* team) {
  require_address("team", team);
  LuTeam result;
  result.members = team->members, result.own = team->own;
  if (team->broadcast != nullptr)
    result.broadcast = [own = *team](void* data, std::int64_t bytes, int owner) {
      if (const int code = own.broadcast(own.user, data, bytes, owner); code != 0)
        throw Error(ErrorCode::io, "team",
                    fmt::format("team: broadcast of {} bytes returned {}", bytes, code));
    };
  return result;
}

}  // namespace
}  // namespace tilewright

using namespace tilewright;  // NOLINT: the functions below are the C names of what is above

tilewright_status tilewright_lu_factor_cyclic(tilewright_context* context, tilewright_dtype dtype, int64_t m,
                                              int64_t n, int64_t nb, void* a, int64_t lda, int64_t* pivots,
                                              int64_t* info, const tilewright_lu_team* team,
                                              const tilewright_lu_options* options) {
  return with_context(context, [&](Context& ctx) {
    require_address("info", info);
    const LuTeam members = to_team(team);
    dispatch(to_dtype(dtype), [&]<class T>() {
      *info =
          lu_factor_cyclic(ctx, m, n, nb, static_cast<T*>(a), lda, pivots, members, to_lu_options(options))
              .info;
    });
  });
}

tilewright_status tilewright_lu_can_factor_cyclic(tilewright_context* context, tilewright_dtype dtype,
                                                  int64_t m, int64_t n, int64_t nb,
                                                  const tilewright_lu_team* team,
                                                  const tilewright_lu_options* options) {
  return with_context(context, [&](Context& ctx) {
    const std::string reason =
        why_not_cyclic(ctx, to_dtype(dtype), m, n, nb, to_team(team), to_lu_options(options));
    if (!reason.empty()) throw Error(ErrorCode::unsupported, "team", reason);
  });
}
