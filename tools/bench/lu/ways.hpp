// The ways of factoring one matrix that bench lu tries: the paper's cpuLU, gpuLU and cpugpuLU with each of
// its selections (Bernabe 2014, section 5), what a program gets that asks for nothing, and panels whose
// shares are searched for by timing.
#pragma once

#include <string>
#include <vector>

#include "bench/case.hpp"

namespace tilewright::bench {

struct LuWay {
  std::string name;  // "hybrid square nb=128"
  LuOptions options;
  SplitWay split =
      SplitWay::model;  // exhaustive: the CPU's share of each update is timed when it first comes
};

// Those that plan.ways asks for; with none asked, all that the machine has. What is left out of them gets a
// line: panels wider than the matrix.
std::vector<LuWay> lu_ways_of(const Plan& plan, const Case& c, bool has_gpu, std::vector<std::string>& lines);

// Among which the optimum is: of the panels that plan.lu names, or of widths from 64 to 768.
std::vector<LuWay> lu_searched_ways(const Plan& plan, const Case& c, bool has_gpu);

// `a` holds elements of the problem's type.
LuReport run_lu_way(Context& context, const LuProblem& problem, const LuWay& way, void* a,
                    std::int64_t* pivots);

}  // namespace tilewright::bench
