// The job of the verbs factor and solve: factorizations, systems, least squares, inverses, determinants,
// eigenvalues or singular values of a matrix or a batch of matrices in files. The outputs appear only if the
// whole job succeeds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "measure/system_residual.hpp"
#include "plan/offer.hpp"
#include "tilewright/factor.hpp"

namespace tilewright::cli {

struct FactorJobRequest {
  Routine routine = Routine::gesv;
  std::string a, b;         // files of the arrays; B is "" for routines without right sides
  std::string output;       // of the result
  std::string pivots;       // getrf: "" if they are not written
  std::string tau;          // geqrf: "" if they are not written
  std::string vectors, vh;  // syev and gesvd: eigenvectors or U, and V^H; "" if they are not computed
  std::string infos;        // "": the job fails with the first problem that has no result
  Uplo uplo = Uplo::lower;
  Side side = Side::left;
  Op op = Op::none;
  Diag diag = Diag::non_unit;
  FactorOptions options;
  bool verify = false;  // for gesv and posv
  std::string caller;   // as messages name the job: the routine, or the verb solve
};

// What a routine takes and gives.
bool has_right_sides(Routine routine);
bool has_infos(Routine routine);
bool is_verifiable(Routine routine);
bool continues(Routine routine);  // with pivots or tau, which no file brings
bool has_triangle(Routine routine);

struct FactorJobReport {
  std::string problem;  // "gesv:f64:n=8,nrhs=1,batch=1000"
  DType dtype = DType::f64;
  std::int64_t m = 0, n = 0, nrhs = 0, count = 0;
  std::string layout;                          // of A
  double flops = 0, moved = 0;                 // operations, and bytes that are read and written
  Explanation explanation;                     // without a candidate if there is nothing to compute
  std::int64_t failed = 0, first_failed = -1;  // problems with an info
  int first_info = 0;
  std::string failure;  // the sentence about them; "" if there are none
  nlohmann::json observed;
  std::optional<SystemVerifyResult> verification;
  int threads = 1;
  double read_s = 0, kernel_s = 0, write_s = 0, verify_s = 0, total_s = 0;
};

// Throws JobFailed if problems have no result and their infos are not written, or if verification fails.
FactorJobReport run_factor_job(const FactorJobRequest& request);

}  // namespace tilewright::cli
