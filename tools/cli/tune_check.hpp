// `tune --check`: are the stored records still as good as they were? Each is measured again beside the
// default config of its family and judged; nothing is searched and nothing is stored.
#pragma once

#include <string>
#include <vector>

#include "core/estimate.hpp"
#include "gemm/context_impl.hpp"
#include "tune/family/family.hpp"
#include "tune_flags.hpp"
#include "wisdom/record.hpp"

namespace tilewright::cli {

// Throws JobFailed naming how many records regressed.
void check_records(const TuneFlags& flags, const Context& context);

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

// Returns the records of the named problems (none: of all) that can be measured on this machine, by element
// type; of several of one identity, the one that lookups use. `records` are in the order in which lookups
// prefer them.
std::vector<StoredRecord> records_to_check(const std::vector<WisdomRecord>& records,
                                           const std::vector<GemmProblem>& problems, Location location,
                                           const FamilyList& families, TuneMachine& machine);

// Looks several times, for about `budget_s` in all, and calls it a regression where all looks agree.
Checked recheck(const StoredRecord& record, double budget_s, TuneMachine& machine);

// Combines a first recheck that found a regression with one at another time: it is one if both say so.
Checked agreed(const Checked& first, const Checked& second);

}  // namespace tilewright::cli
