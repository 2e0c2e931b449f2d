// Checks contenders, copies the matrix between runs, and times rounds.
#include "bench/lu/contest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "bench/machine.hpp"
#include "core/problem.hpp"
#include "lu/calls.hpp"
#include "measure/clock.hpp"

namespace tilewright::bench {
namespace {

constexpr int search_rounds = 3;
constexpr double check_flops = 1e9;  // operations of the check of the residual

}  // namespace

LuReport LuRecord::median() const {
  if (reports.empty()) return {};
  LuReport middle = reports.back();
  for (double LuReport::*part :
       {&LuReport::panel_s, &LuReport::swap_s, &LuReport::solve_s, &LuReport::update_s}) {
    std::vector<double> values;
    for (const LuReport& report : reports) values.push_back(report.*part);
    middle.*part = tilewright::median(values);
  }
  return middle;
}

LuContest::LuContest(const Case& c, const std::string& memory)
    : case_(c),
      problem_(lu_problem(c)),
      bytes_(problem_.lda * problem_.n * size_bytes(problem_.dtype)),
      original_(bytes_),
      a_(host_memory(memory, bytes_)),
      pivots_(std::size_t(std::min(problem_.m, problem_.n))) {
  fill(original_.data(), problem_.lda * problem_.n, problem_.dtype, c.data, 1);
}

void LuContest::renew() {
  std::memcpy(a_.get(), original_.data(), std::size_t(bytes_));
  std::fill(pivots_.begin(), pivots_.end(), 0);
}

double LuContest::turn(Contender& one, const HostEnergy* energy, bool with_gpus) {
  renew();
  const auto timed = [&] {
    const double begin = wall_seconds();
    one.run(0);
    return wall_seconds() - begin;
  };
  return energy == nullptr ? timed() : energy->watch(one, with_gpus, timed);
}

void LuContest::enter(Contender one, LuVariant variant, Factor factor, const Factor& check) {
  const auto record = std::make_shared<LuRecord>();
  record->variant = std::move(variant);
  one.run = [this, record, factor = std::move(factor)](std::int64_t) {
    record->reports.push_back(factor(a_.get(), pivots_.data()));
  };
  try {
    turn(one);  // includes searches and one-time compilation
    if (check) {
      renew();
      check(a_.get(), pivots_.data());
    }
  } catch (const Error& error) {
    if (one.role == Role::tested && error.code() != ErrorCode::unsupported &&
        error.code() != ErrorCode::out_of_memory)
      throw;
    lines.push_back(fmt::format("{} {}: {}", problem_text(case_), name_of(one), error.what()));
    return;
  }
  if (!passes(one, *record)) return;
  record->reports.clear();
  records_[name_of(one)] = record;
  all_.push_back(std::move(one));
}

bool LuContest::passes(const Contender& one, LuRecord& record) {
  for (std::size_t i = 0; i < pivots_.size(); ++i) {
    if (pivots_[i] > std::int64_t(i) && pivots_[i] <= problem_.m) continue;
    lines.push_back(fmt::format("{} {}: pivot {} = {} is not between its row and {}", problem_text(case_),
                                name_of(one), i + 1, pivots_[i], problem_.m));
    if (one.role != Role::tested) return false;
    throw Error(ErrorCode::internal, one.impl, lines.back());
  }
  LuVerifyInput in;
  in.dtype = problem_.dtype, in.m = problem_.m, in.n = problem_.n;
  in.a = original_.data(), in.lu = a_.get(), in.pivots = pivots_.data();
  in.threads = case_.threads, in.flop_limit = check_flops;
  record.residual = verify_lu(in);
  if (!record.residual.passed()) {
    lines.push_back(fmt::format("{} {}: wrong factors, residual ratio {:.3g} of {} allowed",
                                problem_text(case_), name_of(one), record.residual.ratio,
                                LuVerifyResult::bound));
    if (one.role != Role::tested) return false;
    throw Error(ErrorCode::internal, one.impl, lines.back());
  }
  if (first_pivots_.empty()) first_pivots_ = pivots_;
  for (std::size_t i = 0; i < pivots_.size(); ++i) record.other_pivots += pivots_[i] != first_pivots_[i];
  return true;
}

void LuContest::enter_best(std::size_t count, const std::function<void(LuContest&)>& enter_all) {
  std::vector<Contender> others = std::move(all_);
  all_.clear();
  enter_all(*this);
  hold(search_rounds);
  std::stable_sort(all_.begin(), all_.end(), [](const Contender& x, const Contender& y) {
    return x.seconds.centre < y.seconds.centre;
  });
  std::vector<std::pair<std::int64_t, double>> tried;
  for (const Contender& one : all_) tried.emplace_back(record(one).variant.options.nb, one.seconds.centre);
  all_.resize(std::min(all_.size(), count));
  for (Contender& one : all_) {
    // The best of several is best partly by chance, so only rounds after the choice count.
    one.rounds.clear();
    LuRecord& known = *records_.at(name_of(one));
    known.reports.clear();
    known.tried = tried;
  }
  all_.insert(all_.begin(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
}

void LuContest::hold(int rounds, const HostEnergy* energy, bool with_gpus) {
  hold_rounds(
      all_, [&](Contender& one) { return turn(one, energy, with_gpus); }, rules_of_long_turns(rounds));
}

}  // namespace tilewright::bench
