// Peers of batched factorizations: loops over the matrices of a batch, each by a routine of the LAPACK that
// was found or by Eigen.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "device/cblas.hpp"
#include "tilewright/routine.hpp"
#include "tilewright/types.hpp"

namespace tilewright::peers {

// Packed column-major matrices, n x n and n x nrhs, of which those that a routine overwrites hold its result.
struct FactorBatch {
  Routine routine = Routine::getrf;
  DType dtype = DType::f64;
  std::int64_t n = 0, nrhs = 0, count = 0;
  void *a = nullptr, *b = nullptr;
  int* pivots = nullptr;  // n for each problem
};

struct FactorLoop {
  std::string impl, version, variant;
  // Runs the batch by so many threads, each on its part of the problems.
  std::function<void(const FactorBatch& batch, int threads)> run;
  bool permutes = false;  // pivots[i] is then the row, from 0, that row i becomes, and not LAPACK's number
};

// The loops that compute this routine; `absent` receives the reasons of those that do not.
std::vector<FactorLoop> factor_loops(const CblasLibrary& library, const FactorBatch& batch,
                                     std::vector<std::string>& absent);
std::vector<std::string> factor_loop_names();

}  // namespace tilewright::peers
