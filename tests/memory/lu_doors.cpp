// Factors, systems, inverses and refinement of a small and a large matrix in host memory.
#include <algorithm>
#include <cmath>

#include "host_doors.hpp"
#include "session.hpp"

namespace tilewright::memory {
namespace {

constexpr auto f64 = TILEWRIGHT_F64;
constexpr auto none = TILEWRIGHT_NONE;

// A matrix, its factors by the textbook, its inverse, and a system whose solution is 1, 2, 3, ...
struct System {
  explicit System(std::int64_t size) : n(size) {
    const auto N = std::size_t(n);
    a.resize(N * N), x.resize(N), b.assign(N, 0);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = double(i * 37 % 101) / 50 - 1;
    for (std::size_t i = 0; i < N; ++i) a[i * N + (i + 1) % N] += 4;  // rows are exchanged
    for (std::size_t i = 0; i < N; ++i) x[i] = double(i + 1);
    for (std::size_t j = 0; j < N; ++j)
      for (std::size_t i = 0; i < N; ++i) b[i] += a[j * N + i] * x[j];
    lu = a, pivots.resize(N);
    factor();
    pivots_at.assign(N, 0), lu_at = a, x_at = b, info_at = {-1};
    invert();
  }

  std::int64_t n;
  Values a, lu, inverse, x, b;
  std::vector<std::int64_t> pivots;
  // What calls write; pivots as numbers.
  Values lu_at, pivots_at, x_at, info_at;
  std::vector<std::int64_t> pivots_written = std::vector<std::int64_t>(64 * 4);
  Output factors() { return {&lu_at, a, lu, 1e-10}; }
  Output rows() { return {&pivots_at, Values(pivots.size(), 0), Values(pivots.begin(), pivots.end())}; }
  Output solution(const Values& before) { return {&x_at, before, x, 1e-7}; }

  void note_pivots() {
    for (std::size_t i = 0; i < pivots.size(); ++i) pivots_at[i] = double(pivots_written[i]);
  }
  void forget_pivots() { std::fill(pivots_written.begin(), pivots_written.end(), 0); }

 private:
  void factor() {
    const auto N = std::size_t(n);
    for (std::size_t j = 0; j < N; ++j) {
      std::size_t p = j;
      for (std::size_t i = j; i < N; ++i)
        if (std::abs(lu[j * N + i]) > std::abs(lu[j * N + p])) p = i;
      pivots[j] = std::int64_t(p + 1);
      for (std::size_t l = 0; l < N; ++l) std::swap(lu[l * N + j], lu[l * N + p]);
      for (std::size_t i = j + 1; i < N; ++i) lu[j * N + i] /= lu[j * N + j];
      for (std::size_t l = j + 1; l < N; ++l)
        for (std::size_t i = j + 1; i < N; ++i) lu[l * N + i] -= lu[j * N + i] * lu[l * N + j];
    }
  }
  void invert() {
    const auto N = std::size_t(n);
    inverse.assign(N * N, 0);
    for (std::size_t c = 0; c < N; ++c) {
      double* const y = inverse.data() + c * N;
      y[c] = 1;
      for (std::size_t i = 0; i < N; ++i) std::swap(y[i], y[std::size_t(pivots[i]) - 1]);
      for (std::size_t j = 0; j < N; ++j)
        for (std::size_t i = j + 1; i < N; ++i) y[i] -= lu[j * N + i] * y[j];
      for (std::size_t j = N; j-- > 0;) {
        y[j] /= lu[j * N + j];
        for (std::size_t i = 0; i < j; ++i) y[i] -= lu[j * N + i] * y[j];
      }
    }
  }
};

void add(Doors& doors, Session& session, System& s, const std::string& size) {
  const auto begin = [&session] { session.begin(); };
  const auto message = [&session] { return session.message(); };
  const auto factor = [&session, &s] {
    s.forget_pivots();
    std::int64_t info = -1;
    const tilewright_status status = tilewright_lu_factor(session.context(), f64, s.n, s.n, s.lu_at.data(),
                                                          s.n, s.pivots_written.data(), &info, nullptr);
    s.note_pivots();
    return status == TILEWRIGHT_OK && info != 0 ? TILEWRIGHT_INTERNAL : status;
  };
  const auto solve = [&session, &s] {
    return tilewright_lu_solve(session.context(), f64, none, s.n, 1, s.lu.data(), s.n, s.pivots.data(),
                               s.x_at.data(), s.n, nullptr);
  };
  const auto refine = [&session, &s] {
    double error = -1;
    return tilewright_lu_refine(session.context(), f64, none, s.n, 1, s.a.data(), s.n, s.lu.data(), s.n,
                                s.pivots.data(), s.b.data(), s.n, s.x_at.data(), s.n, &error, nullptr);
  };
  const auto invert = [&session, &s] {
    std::int64_t info = -1;
    return tilewright_lu_inverse(session.context(), f64, s.n, s.lu_at.data(), s.n, s.pivots.data(), &info,
                                 nullptr);
  };
  Values nearly(s.x);
  for (double& value : nearly) value += 1e-9;
  doors.push_back({"lu.factor." + size, begin, factor, {s.factors(), s.rows()}, message});
  doors.push_back({"lu.solve." + size, begin, solve, {s.solution(s.b)}, message});
  doors.push_back({"lu.refine." + size, begin, refine, {s.solution(nearly)}, message});
  doors.push_back({"lu.inverse." + size, begin, invert, {{&s.lu_at, s.lu, s.inverse, 1e-9}}, message});
}

}  // namespace

Doors lu_doors() {
  static Session session;
  static System small(5), large(150);
  Doors doors;
  add(doors, session, small, "small");
  add(doors, session, large, "large");
  return doors;
}

}  // namespace tilewright::memory
