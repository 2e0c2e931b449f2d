// Hardware counters of the calling thread through perf events. Many virtual machines have none; then the
// reason is given and nothing is reported, never a zero.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tilewright {

struct CounterReading {
  std::string name;  // instructions, cycles, l1_read_misses
  double value = 0;
};

class HardwareCounters {
 public:
  HardwareCounters();
  ~HardwareCounters();
  HardwareCounters& operator=(HardwareCounters&&) = delete;

  // Returns "" if at least one counter works, else why none does.
  const std::string& unavailable() const noexcept { return unavailable_; }

  // Returns the counts of the working counters over a run of `work`.
  std::vector<CounterReading> measure(const std::function<void()>& work) const;

 private:
  struct Counter {
    std::string name;
    int descriptor = -1;
  };
  std::vector<Counter> counters_;
  std::string unavailable_;
};

}  // namespace tilewright
