// Ranges are computed once per plan; a call compares addresses.
#include "gemm/device/operands.hpp"

#include "core/refuse.hpp"
#include "gemm/operand.hpp"

namespace tilewright {
namespace {

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

// `count`: matrices, or entries of the operand's array.
std::int64_t span_bytes(const GemmProblem& p, const OperandLayout& x, std::int64_t count) {
  if (x.rows == 0 || x.cols == 0 || count == 0) return 0;
  if (has_pointers(p)) return count * std::int64_t(sizeof(void*));
  if (is_interleaved(p)) return ((p.batch_count - 1) / p.block + 1) * x.step * size_bytes(p.dtype);
  return (x.offset(count - 1) + x.ld * (x.cols - 1) + x.rows) * size_bytes(p.dtype);
}

}  // namespace

GpuOperandCheck::GpuOperandCheck(const GemmProblem& p, int align_bytes, const Gpu* gpu)
    : a_{span_bytes(p, layout_a(p), p.batch_count), contiguous_a(p)},
      b_{span_bytes(p, layout_b(p), p.batch_count), contiguous_b(p)},
      c_{span_bytes(p, layout_c(p), p.sums == Sums::batch_reduce ? 1 : p.batch_count), contiguous_c(p)},
      pointers_(has_pointers(p)),
      sizes_vary_(p.layout == Layout::variable),
      align_bytes_(pointers_ ? int(sizeof(void*)) : align_bytes),
      size_bytes_(static_cast<int>(tilewright::size_bytes(p.dtype))),
      gpu_(gpu) {}

// Returns the reason for the alignment: calls find their own, only plans are made for more.
const char* GpuOperandCheck::alignment_reason() const {
  if (pointers_) return "the size of its entries";
  return align_bytes_ == size_bytes_ ? "the size of an element"
                                     : "which the plan was made for (options.align_bytes)";
}

void GpuOperandCheck::check_one(const char* name, const void* address, std::int64_t bytes) const {
  if (number(address) % static_cast<unsigned>(align_bytes_) != 0)
    refuse_argument(name, fmt::format("{} = {} is not a multiple of {} bytes, {}", name, address,
                                      align_bytes_, alignment_reason()));
  if (gpu_ == nullptr) return;
  if (const std::string fault = gpu_->address_fault(address, bytes); !fault.empty())
    refuse_argument(name, fmt::format("{} = {}: {}", name, address, fault));
}

// Batches with gaps may lie in each other's gaps; those without cannot, and equal addresses share an element.
void GpuOperandCheck::check_apart(const char* name, const void* address, const Range& range,
                                  const void* c) const {
  const bool meet = number(address) < number(c) + static_cast<std::uintptr_t>(c_.bytes) &&
                    number(c) < number(address) + static_cast<std::uintptr_t>(range.bytes);
  if (!meet || range.bytes == 0 || pointers_ || !(address == c || (range.dense && c_.dense))) return;
  refuse_argument("c", fmt::format("c = {} with {} bytes overlaps {} = {} with {} bytes", c, c_.bytes, name,
                                   address, range.bytes));
}

void GpuOperandCheck::check(const Operands& o, bool reads_ab) const {
  check_one("c", o.c, c_.bytes);
  const VariableSizes& s = o.sizes;
  if (sizes_vary_)
    for (const auto& [name, array] :
         {std::pair{"m", s.m}, {"n", s.n}, {"k", s.k}, {"lda", s.lda}, {"ldb", s.ldb}, {"ldc", s.ldc}})
      check_one(name, array, c_.bytes);  // as many, and as large, as addresses
  if (!reads_ab) return;
  check_one("a", o.a, a_.bytes);
  check_one("b", o.b, b_.bytes);
  check_apart("a", o.a, a_, o.c);
  check_apart("b", o.b, b_, o.c);
}

}  // namespace tilewright
