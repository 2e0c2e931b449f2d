// The methods of factoring one matrix that bench lu tries: the paper's cpuLU, gpuLU and cpugpuLU with each of
// its selections (Bernabe 2014, section 5), the default of a program that sets no options, and panels whose
// shares are found by timing.
#pragma once

#include <string>
#include <vector>

#include "bench/case.hpp"

namespace tilewright::bench {

struct LuWay {
  std::string name;  // "hybrid square nb=128"
  LuOptions options;
  SplitWay split =
      SplitWay::model;  // exhaustive: the CPU's share of each update is timed when it first occurs
};

// Returns the methods that plan.ways names; if it is empty, all that the machine supports. Adds a line for
// each method left out, such as panels wider than the matrix.
std::vector<LuWay> lu_ways_of(const Plan& plan, const Case& c, bool has_gpu, std::vector<std::string>& lines);

// Returns the candidates for the optimum: the panels that plan.lu names, or widths from 64 to 768.
std::vector<LuWay> lu_searched_ways(const Plan& plan, const Case& c, bool has_gpu);

// `a` holds elements of the problem's type.
LuReport run_lu_way(Context& context, const LuProblem& problem, const LuWay& way, void* a,
                    std::int64_t* pivots);

}  // namespace tilewright::bench
