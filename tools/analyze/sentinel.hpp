// A sentinel: one fixed program (the vendor's GEMM) measured again and again between others. It tells whether
// the machine changed under a sweep, and joins sweeps of different machines, as Anzt 2015 did with cuBLAS. It
// measures nothing itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct SentinelReading {
  double seconds = 0;
  std::optional<double> joules;
};

// The median of several; joules only where all have them.
SentinelReading median_of(const std::vector<SentinelReading>& readings);

class SentinelWatch {
 public:
  // How far a sentinel may be from the first ones before it is said.
  static constexpr double time_limit = 0.02, energy_limit = 0.03;

  void add(const SentinelReading& reading);
  bool empty() const { return readings_.empty(); }

  // The latest over the median of the first three.
  double time_ratio() const;
  std::optional<double> energy_ratio() const;
  // What is beyond the limits, in words.
  std::vector<std::string> notes() const;

 private:
  SentinelReading reference() const;
  std::vector<SentinelReading> readings_;
};

}  // namespace tilewright
