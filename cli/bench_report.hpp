// What `bench` says: a line per case for people, a JSON object per implementation and a summary per group of
// cases for scripts. The keys are a contract (docs/measuring.md).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench_run.hpp"

namespace tilewright::cli {

// Keys of the case itself, the same for every implementation; and those of what was measured of one.
nlohmann::json case_keys(const BenchCase& bench_case);
nlohmann::json seconds_keys(const Estimate& seconds);
// What one of ours ran with; null for peers.
nlohmann::json config_of(const ImplResult& impl);

std::string table_head();
std::string table_line(const CaseResult& result);

// One object per implementation, ours first.
std::vector<nlohmann::json> json_of(const CaseResult& result);

// Collects cases; one object for each distinct (family, dtype, layout, op, beta, residency, threads, target),
// in the order in which they first came.
class Summary {
 public:
  void add(const CaseResult& result);
  std::vector<nlohmann::json> objects() const;
  // The same for people.
  std::vector<std::string> lines() const;

 private:
  struct Group {
    nlohmann::json key;
    std::vector<double> ratios, strided_ratios, shares, interleaved_shares, default_ratios;
    std::vector<std::string> ratio_cases, strided_cases, share_cases, interleaved_cases, default_cases;
  };
  std::vector<Group> groups_;
};

}  // namespace tilewright::cli
