// The output of `bench`: a line per case for people, a JSON object per implementation and a summary per group
// of cases for scripts. The keys are a contract (docs/measuring.md).
#pragma once

#include <string>
#include <vector>

#include "bench/contender.hpp"
#include "core/json.hpp"

namespace tilewright::bench {

// Returns the keys of a time, and the keys of one implementation's measurements in the case, for families
// that do not compare multiplications.
nlohmann::json seconds_keys(const Estimate& seconds);
// Returns the keys of a ratio to a peer that was taken in pairs.
nlohmann::json ratio_keys(const std::string& peer, const Estimate& ratio);
nlohmann::json measured_row(const Case& c, const std::string& impl, const Estimate& seconds);

// Adds joules of one run and figures derived from them, or the note why there are none.
void add_energy(nlohmann::json& row, const Contender& one, double flops);

// {..., .95, ...} -> {"..._geomean": .97, "..._min": .95, "..._min_case": ...} into the object; null without
// cases.
void add_statistics(nlohmann::json& object, const std::string& prefix, const std::vector<double>& values,
                    const std::vector<std::string>& cases);
// Returns {"mean": ..., "worst": ...}, the worst being the largest; null without values.
nlohmann::json mean_and_worst(const std::vector<double>& values);

// Returns a config in words: " mr=4 nr=8", with a blank before each.
std::string config_text(const nlohmann::json& config);

// Adds the keys of rows whose work CPU and GPUs may share, as null if the row lacks them.
void add_shared_keys(nlohmann::json& row);
// Formats the summary's keys of one kind of memory in a line for people, and {"mean", "worst"} as "mean 1.2
// %, worst 3.4 %".
std::string summary_line(const nlohmann::json& summary);
std::string percent_text(const nlohmann::json& mean_and_worst);

// The table that compares tilewright with its peers, and what its columns mean; the notes stand below it.
std::string table_head();
std::string table_line(const CaseResult& result);
std::vector<std::string> table_notes(bool has_default);

// Returns "1.23x" and "93 %"; "" if there is no value.
std::string ratio_text(double ratio);
std::string share_text(double share);

// Returns one object per implementation, tilewright first.
std::vector<nlohmann::json> json_of(const CaseResult& result);

// Returns the keys that the cases of one summary share.
nlohmann::json summary_key(const Case& c);

// Collects cases; one object for each distinct (family, dtype, layout, op, beta, residency, arrival, threads,
// target), in the order of their first cases.
class Summary {
 public:
  void add(const CaseResult& result);
  // For families that do not compare multiplications: the speed of tilewright over that of the best peer, and
  // the share of the bound; 0 if there is none.
  void add(const Case& c, double ratio, double share);
  std::vector<nlohmann::json> objects() const;
  // Returns the same as a table for people, its head first.
  std::vector<std::string> lines() const;
  bool has_defaults() const;  // wisdom was in use

 private:
  // Values of one kind with their cases.
  struct Values {
    std::vector<double> values;
    std::vector<std::string> cases;
  };
  struct Group {
    nlohmann::json key;
    Values ratios, strided_ratios, shares, interleaved_shares, default_ratios;
  };
  static void note(Values& all, double value, const Case& c);
  Group& group_of(const Case& c);

  std::vector<Group> groups_;
};

}  // namespace tilewright::bench
