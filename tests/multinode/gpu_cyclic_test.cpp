// LU of matrices whose columns are distributed over several members, each with a GPU: against the reference,
// and bad arguments.
#include <fmt/format.h>

#include <barrier>
#include <cstring>
#include <thread>

#include "core/dispatch.hpp"
#include "lu/far_columns.hpp"
#include "lu/reference.hpp"
#include "support/gpu_fixture.hpp"
#include "tilewright/multinode.hpp"

namespace tilewright::testing {
namespace {

using GpuCyclic = GpusTest;

// Members of a team that share this process: each has a thread and a Context.
class Team {
 public:
  explicit Team(int members) : members_(members), turn_(members) {}
  // Removes a member that takes no further part.
  void leave() { turn_.arrive_and_drop(); }
  LuTeam of(int own) {
    return {members_, own, [this, own](void* data, std::int64_t bytes, int owner) {
              if (own == owner) data_ = data, bytes_ = bytes;
              turn_.arrive_and_wait();
              EXPECT_EQ(bytes, bytes_);
              if (own != owner) std::memcpy(data, data_, std::size_t(bytes));
              turn_.arrive_and_wait();
            }};
  }

 private:
  int members_;
  std::barrier<> turn_;
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

template <class T>
void expect_cyclic(const LuMatrixOf<T>& a, std::int64_t nb, int members) {
  const auto what =
      fmt::format("{} {} x {} nb {} of {} members", to_string(dtype_of<T>), a.rows, a.cols, nb, members);
  const auto least = std::size_t(std::min(a.rows, a.cols));
  LuMatrixOf<T> lu = a, expected = a;
  std::vector<std::int64_t> right(least);
  const std::int64_t info = factor_reference(a.rows, a.cols, expected.data.data(), expected.ld, right.data());
  Team team(members);
  std::vector<std::vector<std::int64_t>> pivots(std::size_t(members), std::vector<std::int64_t>(least, -1));
  std::vector<std::int64_t> infos(std::size_t(members), -1);
  std::vector<std::thread> threads;
  for (int own = 0; own < members; ++own)
    threads.emplace_back([&, own] {
      Context context({.use_wisdom = false, .notices = false});
      const auto owned = [&](std::int64_t j) { return j / nb % members == own; };
      std::vector<T> columns;
      for (std::int64_t j = 0; j < a.cols; ++j)
        if (owned(j))
          columns.insert(columns.end(), &a.data[std::size_t(j * a.ld)],
                         &a.data[std::size_t(j * a.ld)] + a.ld);
      EXPECT_EQ(why_not_cyclic(context, dtype_of<T>, a.rows, a.cols, nb, team.of(own)), "") << what;
      const auto at = std::size_t(own);
      try {
        infos[at] = lu_factor_cyclic(context, a.rows, a.cols, nb, columns.data(), a.ld, pivots[at].data(),
                                     team.of(own))
                        .info;
      } catch (const Error& error) {
        ADD_FAILURE() << what << " of member " << own << ": " << error.what();
        team.leave();
      }
      auto next = columns.begin();
      for (std::int64_t j = 0; j < a.cols; ++j)
        if (owned(j)) std::copy_n(next, a.ld, lu.data.begin() + j * a.ld), next += a.ld;
    });
  for (std::thread& one : threads) one.join();
  std::int64_t first = 0;
  for (const std::int64_t one : infos)
    if (one > 0 && (first == 0 || one < first)) first = one;
  EXPECT_EQ(first, info) << what;
  for (const auto& one : pivots) EXPECT_EQ(one, right) << what;
  EXPECT_LT(factor_ratio(a, lu, right), 3) << what;
  EXPECT_TRUE(lu.guards_stand()) << what;
}

TEST_F(GpuCyclic, ColumnsThatATeamHas) {
  int draw = 0;
  for (const DType dtype : {DType::f64, DType::f32, DType::c64, DType::c128})
    for (const auto& [m, n] : {std::pair(130, 130), {150, 70}, {60, 170}, {33, 33}, {1, 1}, {1, 40}, {40, 1}})
      for (const int members : {1, 2, 3}) {
        dispatch(dtype, [&]<class T>() {
          expect_cyclic(make_matrix<T>(LuKind::random, m, n, draw % 4, unsigned(draw)),
                        draw % 2 == 0 ? 16 : 24, members);
        });
        ++draw;
      }
  for (const LuKind kind : lu_kinds)
    if (kind != LuKind::nearly_singular) expect_cyclic(make_matrix<double>(kind, 90, 90, 1), 16, 2);
}

TEST_F(GpuCyclic, ATeamsBadArguments) {
  Context context({.use_wisdom = false, .notices = false});
  double a[4] = {1, 2, 3, 4};
  std::int64_t pivots[2];
  const LuTeam alone;
  const auto refused = [&](const LuTeam& team, std::int64_t nb, std::int64_t lda,
                           double* data) -> std::string {
    try {
      lu_factor_cyclic(context, 2, 2, nb, data, lda, pivots, team);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return error.argument();
    }
    return "";
  };
  EXPECT_EQ(refused(alone, 0, 2, a), "nb");
  EXPECT_EQ(refused(alone, 1000, 2, a), "nb");
  EXPECT_EQ(refused(alone, 16, 1, a), "lda");
  EXPECT_EQ(refused(alone, 16, 2, nullptr), "a");
  EXPECT_EQ(refused({2, 2, {}}, 16, 2, a), "team.own");
  EXPECT_EQ(refused({0, 0, {}}, 16, 2, a), "team.members");
  EXPECT_EQ(refused({2, 0, {}}, 16, 2, a), "team.broadcast");
  EXPECT_NE(why_not_cyclic(context, DType::f64, 10, 10, 1000, alone), "");
  LuOptions little;
  little.gpu_memory_bytes = 1 << 20;
  EXPECT_NE(why_not_cyclic(context, DType::f64, 4000, 4000, 64, alone, little).find("MiB"),
            std::string::npos);
}

}  // namespace
}  // namespace tilewright::testing
