// A sentinel: one fixed program (the vendor's GEMM) measured repeatedly between others. It shows whether the
// machine changed during a sweep, and joins sweeps of different machines, as Anzt 2015 did with cuBLAS. This
// file measures nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct SentinelReading {
  double seconds = 0;
  std::optional<double> joules;
};

// Returns the median of several; joules only if all have them.
SentinelReading median_of(const std::vector<SentinelReading>& readings);

class SentinelWatch {
 public:
  // A sentinel that deviates from the first ones by more than this is reported.
  static constexpr double time_limit = 0.02, energy_limit = 0.03;

  void add(const SentinelReading& reading);
  bool empty() const { return readings_.empty(); }

  // The ratio of the latest to the median of the first three.
  double time_ratio() const;
  std::optional<double> energy_ratio() const;
  // Describes the deviations beyond the limits.
  std::vector<std::string> notes() const;

 private:
  SentinelReading reference() const;
  std::vector<SentinelReading> readings_;
};

}  // namespace tilewright
