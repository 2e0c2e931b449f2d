// LU in device memory against plain loops: pivots, factors and info of every shape and type, blocks of one
// and of many columns, and work that is queued in any order that the streams allow.
#include <fmt/format.h>

#include <limits>
#include <random>

#include "core/dispatch.hpp"
#include "core/env.hpp"
#include "kernel/probe/loops.hpp"
#include "lu/device/schedule.hpp"
#include "lu/device/system.hpp"
#include "lu/reference.hpp"
#include "lu_cases.hpp"
#include "support/gpu_fixture.hpp"

namespace tilewright::testing {
namespace {

template <class T>
struct HostLu {
  std::int64_t m, n, lda;
  std::vector<T> a;
  std::vector<std::int64_t> pivots;
  std::int64_t info = 0;

  T& at(std::int64_t i, std::int64_t j) { return a[std::size_t(i + j * lda)]; }

  HostLu(std::int64_t rows, std::int64_t columns, std::int64_t padding, unsigned seed)
      : m(rows), n(columns), lda(rows + padding), a(std::size_t(lda * n), T(4711)) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i)
        if constexpr (is_complex(dtype_of<T>))
          at(i, j) = T(float(uniform(random)), float(uniform(random)));
        else
          at(i, j) = T(uniform(random));
  }

  void factor() {
    pivots.resize(std::size_t(std::min(m, n)));
    info = factor_reference(m, n, a.data(), lda, pivots.data());
  }
};

class GpuLu : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    if (const std::string reason = why_too_old(gpu_->limits()); !reason.empty()) GTEST_SKIP() << reason;
    const Environment environment = Environment::read();
    compiler_ = std::make_unique<StencilCompiler>(share_folder(environment, "kernel"),
                                                  cache_folder(environment) + "/kernels", environment.nvrtc);
    tools_ = std::make_shared<LuTools>(*gpu_, *compiler_);
  }

  // Factors what is given and holds it against plain loops.
  template <class T>
  void expect_right(HostLu<T> host, std::int64_t nb, const std::string& what) {
    DeviceLu lu(tools_, {dtype_of<T>, host.m, host.n, host.lda, nb}, {});
    const std::int64_t steps = std::min(host.m, host.n);
    GpuBuffer a(*gpu_, host.a.size() * sizeof(T)), pivots(*gpu_, std::size_t(steps) * 8), info(*gpu_, 8);
    GpuBuffer workspace(*gpu_, std::size_t(lu.workspace_bytes()));
    a.write(host.a.data(), host.a.size() * sizeof(T));
    const GpuStream stream(*gpu_);
    lu.factor({a.as<void>(), pivots.as<long long>(), info.as<long long>(), workspace.as<void>()},
              stream.get());
    stream.synchronize();
    std::vector<T> got(host.a.size());
    std::vector<std::int64_t> chosen(static_cast<std::size_t>(steps));
    long long first_zero = -7;
    a.read(got.data(), got.size() * sizeof(T));
    pivots.read(chosen.data(), chosen.size() * 8);
    info.read(&first_zero, 8);
    host.factor();
    EXPECT_EQ(first_zero, host.info) << what;
    ASSERT_EQ(chosen, host.pivots) << what;
    const double eps = std::numeric_limits<decltype(std::abs(T()))>::epsilon();
    double worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
      worst = std::max(worst, double(std::abs(got[i] - host.a[i])) / (1 + double(std::abs(host.a[i]))));
    EXPECT_LT(worst, 2000 * double(host.n) * eps) << what;
  }

  std::unique_ptr<StencilCompiler> compiler_;
  std::shared_ptr<LuTools> tools_;
};

TEST_F(GpuLu, ShapesTypesAndBlocks) {
  unsigned seed = 1;
  for (const DType dtype : {DType::f64, DType::f32, DType::c64, DType::c128})
    for (const auto& [m, n] :
         {std::pair(200, 200), {130, 70}, {70, 130}, {33, 33}, {1, 1}, {1, 9}, {9, 1}, {129, 128}})
      for (const std::int64_t nb : {0, 40, 64}) {
        const std::int64_t padding = seed % 3;
        dispatch(dtype, [&]<class T>() {
          expect_right(HostLu<T>(m, n, padding, seed), nb,
                       fmt::format("{} {} x {} in blocks of {}", to_string(dtype), m, n, nb));
        });
        ++seed;
      }
}

TEST_F(GpuLu, BlocksThatAreNoMultipleOfAPanel) {
  for (const std::int64_t nb : {1, 7, 33, 50, 127, 512})
    expect_right(HostLu<double>(180, 170, 2, 77), nb, fmt::format("blocks of {}", nb));
}

TEST_F(GpuLu, TheFirstZeroPivotIsTold) {
  for (const std::int64_t zero : {0, 31, 32, 100, 149}) {
    HostLu<double> host(150, 150, 0, 5);
    for (std::int64_t i = 0; i < host.m; ++i) host.at(i, zero) = 0;
    expect_right(host, 64, fmt::format("column {}", zero));
  }
}

TEST_F(GpuLu, OneObjectFactorsAgain) {
  DeviceLu lu(tools_, {DType::f64, 100, 100, 100, 32}, {});
  GpuBuffer workspace(*gpu_, std::size_t(lu.workspace_bytes())), pivots(*gpu_, 800), info(*gpu_, 8);
  const GpuStream stream(*gpu_);
  std::vector<std::unique_ptr<GpuBuffer>> matrices;
  std::vector<HostLu<double>> hosts;
  // Both are queued before anything is waited for.
  for (unsigned seed = 1; seed <= 2; ++seed) {
    hosts.emplace_back(100, 100, 0, seed);
    matrices.push_back(std::make_unique<GpuBuffer>(*gpu_, hosts.back().a.size() * 8));
    matrices.back()->write(hosts.back().a.data(), hosts.back().a.size() * 8);
    lu.factor(
        {matrices.back()->as<void>(), pivots.as<long long>(), info.as<long long>(), workspace.as<void>()},
        stream.get());
  }
  stream.synchronize();
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    std::vector<double> got(hosts[i].a.size());
    matrices[i]->read(got.data(), got.size() * 8);
    hosts[i].factor();
    double worst = 0;
    for (std::size_t e = 0; e < got.size(); ++e) worst = std::max(worst, std::abs(got[e] - hosts[i].a[e]));
    EXPECT_LT(worst, 1e-9) << i;
  }
}

TEST_F(GpuLu, SystemsOfEveryOperation) {
  int draw = 0;
  for (const DType dtype : {DType::f64, DType::f32, DType::c64, DType::c128})
    for (const Op op : {Op::none, Op::trans, Op::conj_trans})
      for (const auto& [n, nrhs] : {std::pair(1, 1), {70, 3}, {260, 1}, {270, 20}}) {
        ++draw;
        dispatch(dtype, [&]<class T>() {
          const auto a = make_matrix<T>(LuKind::random, n, n, draw % 3, unsigned(draw));
          const auto b = make_matrix<T>(LuKind::random, n, nrhs, draw % 2, unsigned(draw + 1));
          auto lu = a, x = b;
          std::vector<std::int64_t> swaps(static_cast<std::size_t>(n));
          factor_reference(n, n, lu.data.data(), lu.ld, swaps.data());
          DeviceLuSystem system(tools_, {dtype, op, n, nrhs, lu.ld, x.ld});
          GpuBuffer on_lu(*gpu_, lu.data.size() * sizeof(T)), on_x(*gpu_, x.data.size() * sizeof(T)),
              on_swaps(*gpu_, swaps.size() * 8), workspace(*gpu_, std::size_t(system.workspace_bytes()));
          on_lu.write(lu.data.data(), lu.data.size() * sizeof(T));
          on_x.write(x.data.data(), x.data.size() * sizeof(T));
          on_swaps.write(swaps.data(), swaps.size() * 8);
          const GpuStream stream(*gpu_);
          system.solve({on_lu.as<void>(), on_swaps.as<long long>(), on_x.as<void>(), workspace.as<void>()},
                       stream.get());
          stream.synchronize();
          on_x.read(x.data.data(), x.data.size() * sizeof(T));
          const auto what = fmt::format("{} op {} n {} nrhs {}", to_string(dtype), int(op), n, nrhs);
          EXPECT_LT(solve_ratio(a, op, x, b), 30) << what;
          EXPECT_TRUE(x.guards_stand()) << what;
        });
      }
}

// Loops that hold every multiprocessor for a quarter of a second, in more than one stream, while panels wait
// for blocks of theirs that must run at once: by a cluster's shared memory and through global memory.
TEST_F(GpuLu, OtherWorkOnTheDeviceOnlyDelaysIt) {
  if (is_fake()) GTEST_SKIP() << "the fake driver has no multiprocessors to occupy";
  const GpuMultiplies multiplies(*gpu_, *compiler_);
  const GpuMultiplies::Loop& loop = multiplies.loops().front();
  GpuBuffer scratch(*gpu_, 8);
  const GpuStream others[2] = {GpuStream(*gpu_), GpuStream(*gpu_)};
  for (const auto& [m, n] : {std::pair(1500, 1500), {20000, 96}}) {
    for (int launch = 0; launch < 400; ++launch)
      GpuMultiplies::launch(loop, scratch.as<void>(), others[launch % 2].get());
    expect_right(HostLu<double>(m, n, 0, 77), 64, fmt::format("{} x {} beside other work", m, n));
    for (const GpuStream& stream : others) stream.synchronize();
  }
}

TEST_F(GpuLu, WhatCannotBeIsRefused) {
  EXPECT_THROW(DeviceLu(tools_, {DType::f64, 10, 10, 10, 513}, {}), Error);
  EXPECT_THROW(DeviceLu(tools_, {DType::f64, 10, 10, 10, -1}, {}), Error);
  EXPECT_THROW(DeviceLu(tools_, {DType::f64, 10, 10, std::int64_t(1) << 31, 8}, {}), Error);
  EXPECT_THROW(DeviceLu(tools_, {DType::c128, 1000000, 10, 1000000, 8}, {}), Error);
}

}  // namespace
}  // namespace tilewright::testing
