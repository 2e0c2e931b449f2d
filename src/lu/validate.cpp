// Checks of LU arguments, with their messages.
#include "lu/validate.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string>

#include "core/input/checked.hpp"
#include "device/team.hpp"
#include "gemm/hybrid/options.hpp"
#include "lu/calls.hpp"

namespace tilewright {

namespace {
// "lda" is the leading dimension of A.
std::string title_of(const char* ld_name) {
  std::string title = ld_name + std::strlen("ld");
  for (char& letter : title) letter = char(std::toupper(letter));
  return title;
}
}  // namespace

void validate_extent(std::int64_t rows, std::int64_t cols, const char* ld_name, std::int64_t ld,
                     DType dtype) {
  if (ld < std::max<std::int64_t>(1, rows))
    refuse_argument(ld_name, short_ld_text(ld_name, ld, rows, title_of(ld_name)));
  constexpr std::int64_t most_bytes = std::int64_t{1} << 60;  // workspaces of several can be added
  if (saturating_product(ld, std::max<std::int64_t>(1, cols), size_bytes(dtype)) > most_bytes)
    refuse_argument(ld_name,
                    fmt::format("{} = {} and {} columns span more than 2^60 bytes", ld_name, ld, cols));
}

void validate(const LuOptions& o) {
  refuse_unnamed("target", o.target, Target::hybrid);
  refuse_unnamed("select", o.select, LuSelect::flops);
  refuse_unnamed("on_device_failure", o.on_device_failure, OnDeviceFailure::redo);
  check_threads(o.threads);
  check_gpus(o.gpus);
  refuse_negative("nb", o.nb);
  refuse_negative("device", o.device);
  refuse_negative("gpu_memory_bytes", o.gpu_memory_bytes);
}

void validate_host(const LuOptions& o, std::span<const LuCandidate> candidates) {
  validate(o);
  refuse_unknown_candidate(o.candidate, candidates);
}

void validate(const LuMatrix& x) {
  validate_extent(x.rows, x.cols, x.ld_name, x.ld, x.dtype);
  if (x.data == nullptr && x.rows > 0 && x.cols > 0)
    refuse_argument(x.name, fmt::format("{} is null, but has {} x {} elements", x.name, x.rows, x.cols));
}

void validate(const LuProblem& p) {
  refuse_unnamed("dtype", p.dtype, DType::c128);
  refuse_unnamed("location", p.location, Location::device);
  refuse_negative("m", p.m);
  refuse_negative("n", p.n);
  validate_extent(p.m, p.n, "lda", p.lda, p.dtype);
}

void validate_pivots(std::int64_t n, const std::int64_t* pivots) {
  if (n > 0 && pivots == nullptr) refuse_argument("pivots", "pivots is null");
  for (std::int64_t i = 0; i < n; ++i)
    if (pivots[i] <= i || pivots[i] > n)
      refuse_argument("pivots",
                      fmt::format("pivots[{}] = {} is not between {} and {}, as those of lu_factor are", i,
                                  pivots[i], i + 1, n));
}

void validate_op(Op op) {
  if (op > Op::conj_trans) refuse_argument("op", unnamed_text<Op>("op", int(static_cast<signed char>(op))));
}

void validate_apart(const char* written, const void* to, const char* read, const void* from,
                    std::int64_t elements) {
  if (elements > 0 && to == from)
    refuse_argument(written, fmt::format("{} has the address of {}, which is read", written, read));
}

}  // namespace tilewright
