// All contenders that factor one matrix in memory of one kind: checked once by a residual and by pivots, then
// timed in alternation in the same rounds, each from the same matrix. The family reports the results.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/contender.hpp"
#include "bench/lu/ways.hpp"
#include "bench/machine.hpp"
#include "measure/buffers.hpp"
#include "measure/lu_residual.hpp"

namespace tilewright::bench {

// A contender's figures besides its times.
struct LuRecord {
  LuVariant variant;              // for tilewright
  std::vector<LuReport> reports;  // reports of the timed runs; for a peer only info is filled in
  LuVerifyResult residual;
  std::int64_t other_pivots = 0;                         // that differ from the first contender's
  std::vector<std::pair<std::int64_t, double>> tried{};  // for an optimum: columns of a panel, seconds
  LuReport median() const;                               // median of each time separately
};

class LuContest {
 public:
  using Factor = std::function<LuReport(void* a, std::int64_t* pivots)>;

  // `memory` is pageable or pinned.
  LuContest(const Case& c, const std::string& memory);
  LuContest& operator=(LuContest&&) = delete;

  // Runs the contender once. Throws Error(internal) if tilewright's residual exceeds LAPACK's threshold;
  // another contender that fails or errs gets a line and does not take part. `check`, if present, is run in
  // its place.
  void enter(Contender one, LuVariant variant, Factor factor, const Factor& check = {});
  // Enters the methods, at most `count`, that were fastest in a few rounds of their own.
  void enter_best(std::size_t count, const std::function<void(LuContest&)>& enter_all);
  // With `energy`, also records the energy, unless GPUs take part.
  void hold(int rounds, const HostEnergy* energy = nullptr, bool with_gpus = false);

  const std::vector<Contender>& all() const { return all_; }
  const LuRecord& record(const Contender& one) const { return *records_.at(name_of(one)); }
  std::vector<std::string> lines;  // reasons why contenders do not take part

 private:
  static std::string name_of(const Contender& one) { return one.impl + " " + one.variant; }
  double turn(Contender& one, const HostEnergy* energy = nullptr, bool with_gpus = false);
  void renew();
  bool passes(const Contender& one, LuRecord& record);

  const Case& case_;
  LuProblem problem_;
  std::int64_t bytes_;
  AlignedBuffer original_;
  std::shared_ptr<void> a_;
  std::vector<std::int64_t> pivots_, first_pivots_;
  std::vector<Contender> all_;
  std::map<std::string, std::shared_ptr<LuRecord>> records_;
};

}  // namespace tilewright::bench
