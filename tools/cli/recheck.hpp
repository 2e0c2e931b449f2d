// Are stored records still as good as they were? Each is measured again beside the default config of its
// family and judged; nothing is searched and nothing is stored.
#pragma once

#include <string>
#include <vector>

#include "measure/estimate.hpp"
#include "tune/family/family.hpp"
#include "wisdom/record.hpp"

namespace tilewright::cli {

struct StoredRecord : WisdomRecord {
  GemmProblem what;
  const TuneFamily* made_by = nullptr;
};

struct Checked {
  std::string verdict = "holds";  // or why not
  bool holds() const { return verdict == "holds"; }
  bool regressed() const { return verdict.starts_with("regression"); }
  bool is_measured() const { return seconds.samples > 0; }
  Estimate seconds = {};
  double gain = 0, gain_before = 0;  // the default's time over the record's; 0: not known
};

// Those that can be measured on the machine, of the problems that are named or, where there are none, of all
// that lie there: by element type, of several of one identity the one that lookups take. `records` come in
// the order in which lookups believe them.
std::vector<StoredRecord> records_to_check(const std::vector<WisdomRecord>& records,
                                           const std::vector<GemmProblem>& problems, Location location,
                                           const FamilyList& families, TuneMachine& machine);

// Looks several times, for about `budget_s` in all, and calls it a regression where all looks agree.
Checked recheck(const StoredRecord& record, double budget_s, TuneMachine& machine);

// Of a first recheck that called it a regression and one at another time: a regression where both say so.
Checked agreed(const Checked& first, const Checked& second);

}  // namespace tilewright::cli
