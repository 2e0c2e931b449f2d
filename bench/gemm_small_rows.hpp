// What bench_gemm_small writes: measurements of a case as JSON with the keys of docs and bench, launches in
// their order for a profiler, and the faults of configs. It measures nothing.
#pragma once

#include <nlohmann/json.hpp>

#include "device/gpu/blas.hpp"
#include "device/gpu/nvml.hpp"
#include "gemm_small_compile.hpp"
#include "measure/estimate.hpp"

namespace tilewright::bench {

inline constexpr std::int64_t few = 1000;  // batches up to this are judged and timed as small ones
// As the forecast wants it: 0 stands for many.
std::int64_t forecast_count(const GemmProblem& problem);

// What a case is held to.
struct SmallBound {
  double bytes = 0, flops = 0;
  double ceiling = 0;                                  // GB/s, of the best streaming loop
  nlohmann::json ceilings = nlohmann::json::object();  // of all of them
  double gather_s = 0;  // of the best loop over the matrices where they lie; 0 = they are not by pointer
  double seconds() const { return bytes / (ceiling * 1e9); }
};

class SmallRows {
 public:
  SmallRows(const Gpu& gpu, const Nvml& nvml, const StencilCompiler& compiler, const GpuBlas& blas)
      : gpu_(gpu), nvml_(nvml), compiler_(compiler), blas_(blas) {}

  // A measurement of ours. `trial` is loaded.
  nlohmann::json ours(const Job& job, const Trial& trial, const Estimate& time) const;
  nlohmann::json peer(const Job& job, const std::string& name, const Estimate& time) const;
  // The bound is known once the streaming loops have run, which is after the screening.
  static void add_bound(nlohmann::json& row, const SmallBound& bound);
  // How many times our time the peer took: the median of pairs, and its interval.
  static void add_ratio(nlohmann::json& row, const std::string& peer, const Estimate& ratio);
  // Clocks and temperature of this moment, and all streaming loops.
  void add_state(nlohmann::json& row, const SmallBound& bound) const;

  static nlohmann::json fault(const Job& job, const Trial& trial);
  // One launch; `trial` null = the peer's.
  static nlohmann::json launch(const Job& job, const std::string& impl, std::size_t position,
                               double bound_bytes, const Trial* trial);

 private:
  nlohmann::json row(const Job& job, const std::string& impl, const Estimate& time) const;

  const Gpu& gpu_;
  const Nvml& nvml_;
  const StencilCompiler& compiler_;
  const GpuBlas& blas_;
};

}  // namespace tilewright::bench
