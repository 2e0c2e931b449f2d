// Texts of problems: an accepted text is written as a text with the same meaning, and its sums do not
// overflow.
#include "core/problem.hpp"

#include <cmath>

#include "core/product/faults.hpp"
#include "target.hpp"

namespace tilewright::fuzz {

void one_input(const std::string& input) {
  if (is_lu_text(input)) {
    const LuProblem p = parse_lu_problem(input);
    require(parse_lu_problem(to_string(p)) == p, "the text of an LU means the same LU");
    require(!std::isnan(flops(p)), "work is a number");
    return;
  }
  const GemmProblem p = parse_problem(input);
  require(parse_problem(to_string(p)) == p, "the text of a problem means the same problem");
  for (const double amount : {flops(p), bytes(p), footprint_bytes(p)})
    require(!std::isnan(amount), "work and bytes are numbers");
  (void)contiguous_a(p), (void)contiguous_b(p), (void)contiguous_c(p), (void)batch_levels(p), (void)packed(p);
  if (find_fault(p)) return;
  const GemmProblem joined = with_joined_levels(p);
  require(joined.batch_count == p.batch_count, "joined levels hold the same problems");
  require(!find_fault(joined), "joined levels are valid");
}

std::vector<std::string> seeds() {
  return {"gemm:f64:nn:m=4,n=5,k=6",
          "gemm:c128:tc:m=1e3,n=9223372036854775807,k=0:lda=8:ldb=-1:ldc=2e3:alpha=zero:beta=general",
          "gemm_batched:f32:nt:m=4,n=5,k=6:strided:batch=24:outer=2:outermost=3:outer_a=0:stride_b=0",
          "gemm_batched:f32:nn:m=4,n=5,k=6:block_interleaved:batch=1e6:block=16:residency=l2:location=device",
          "gemm_batched:c64:cn:m=4,n=5,k=6:pointer:batch=7",
          "gemm_batch_reduce:f64:nn:m=4,n=5,k=6:batch=8",
          "gemm_stack:f64:nn:m=0,n=1,k=1:batch=8:run=4",
          "lu:f64:m=1000,n=1e3:lda=2000:location=device"};
}

}  // namespace tilewright::fuzz
