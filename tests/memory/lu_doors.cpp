// Factors, systems, inverses and refinement of a small and a large matrix in host memory.
#include "host_doors.hpp"
#include "session.hpp"
#include "system.hpp"

namespace tilewright::memory {
namespace {

constexpr auto f64 = TILEWRIGHT_F64;
constexpr auto none = TILEWRIGHT_NONE;

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
