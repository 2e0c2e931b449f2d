// A folder for one test of wisdom, and records of fictional devices in it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "core/build_info.hpp"
#include "core/problem.hpp"
#include "kernel/gemm_small_cpu/config.hpp"
#include "support/temp_folder.hpp"
#include "wisdom/record.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright {

// Returns the offers of wisdom for batched small GEMM on the CPU, best first.
struct WisdomHit {
  GemmSmallCpuConfig config;
  WisdomMatch match = WisdomMatch::none;
  std::string source;
  RecordedTime recorded;
};
inline std::vector<WisdomHit> lookup(const Wisdom& wisdom, const GemmProblem& problem, Isa isa,
                                     const std::string& objective = "time") {
  std::vector<WisdomHit> hits;
  wisdom.offer({"gemm_small_cpu", to_string(isa), problem, objective}, [&](const WisdomAnswer& answer) {
    hits.push_back(
        {from_json<GemmSmallCpuConfig>(answer.config), answer.match, answer.source, answer.recorded});
    return false;
  });
  return hits;
}

class WisdomFolder : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }

  static GemmProblem problem(std::int64_t m, std::int64_t n, std::int64_t k) {
    GemmProblem p;
    p.m = m, p.n = n, p.k = k;
    p.layout = Layout::strided;
    p.batch_count = 1000;
    p.residency = Residency::cold;
    return packed(p);
  }

  // A record of this build's kernels whose nr tells the test which one was found.
  static WisdomRecord record(const GemmProblem& p, int nr, const std::string& device = "Abacus 1") {
    GemmSmallCpuConfig config;
    config.isa = Isa::avx512;
    config.nr = nr;
    WisdomRecord r;
    r.family = "gemm_small_cpu";
    r.problem = to_string(p);
    r.config = to_json(config);
    r.device = device;
    r.source_hash = gemm_small_cpu_source_hash;
    r.compiler = "GNU 12";
    r.seconds = 1e-6, r.seconds_low = 0.99e-6, r.seconds_high = 1.01e-6;
    r.samples = 11;
    r.default_seconds = 2e-6;
    r.candidates = 100;
    r.time = "2016-11-21T10:00:00Z";
    r.extra = nlohmann::json::object();
    return r;
  }

  TempFolder folder_;
};

}  // namespace tilewright
