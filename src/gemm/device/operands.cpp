// Ranges are computed once per plan; a call compares addresses.
#include "gemm/device/operands.hpp"

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
    : a_bytes_(span_bytes(p, layout_a(p), p.batch_count)),
      b_bytes_(span_bytes(p, layout_b(p), p.batch_count)),
      c_bytes_(span_bytes(p, layout_c(p), p.sums == Sums::batch_reduce ? 1 : p.batch_count)),
      a_dense_(contiguous_a(p)),
      b_dense_(contiguous_b(p)),
      c_dense_(contiguous_c(p)),
      pointers_(has_pointers(p)),
      sizes_vary_(p.layout == Layout::variable),
      align_bytes_(pointers_ ? int(sizeof(void*)) : align_bytes),
      size_bytes_(static_cast<int>(tilewright::size_bytes(p.dtype))),
      gpu_(gpu) {}

// Why it must be a multiple of so many: calls look for themselves, and only plans are made for more.
const char* GpuOperandCheck::alignment_reason() const {
  if (pointers_) return "the size of what the array holds";
  return align_bytes_ == size_bytes_ ? "the size of an element"
                                     : "which the plan was made for (options.align_bytes)";
}

void GpuOperandCheck::check_one(const char* name, const void* address, std::int64_t bytes) const {
  if (number(address) % static_cast<unsigned>(align_bytes_) != 0)
    throw Error(ErrorCode::invalid_argument, name,
                fmt::format("{} = {} is no multiple of {} bytes, {}", name, address, align_bytes_,
                            alignment_reason()));
  if (gpu_ == nullptr) return;
  if (const std::string fault = gpu_->address_fault(address, bytes); !fault.empty())
    throw Error(ErrorCode::invalid_argument, name, fmt::format("{} = {}: {}", name, address, fault));
}

// Batches with gaps may lie in each other's gaps; those without cannot, and equal addresses share an element.
void GpuOperandCheck::check_apart(const char* name, const void* address, std::int64_t bytes, bool dense,
                                  const void* c) const {
  const bool meet = number(address) < number(c) + static_cast<std::uintptr_t>(c_bytes_) &&
                    number(c) < number(address) + static_cast<std::uintptr_t>(bytes);
  if (!meet || bytes == 0 || pointers_ || !(address == c || (dense && c_dense_))) return;
  throw Error(
      ErrorCode::invalid_argument, "c",
      fmt::format("c = {} with {} bytes overlaps {} = {} with {} bytes", c, c_bytes_, name, address, bytes));
}

void GpuOperandCheck::check_sizes(const VariableSizes& s) const {
  const std::pair<const char*, const std::int64_t*> arrays[] = {
      {"m", s.m}, {"n", s.n}, {"k", s.k}, {"lda", s.lda}, {"ldb", s.ldb}, {"ldc", s.ldc}};
  for (const auto& [name, array] : arrays)
    check_one(name, array, c_bytes_);  // as many, and as large, as addresses
}

void GpuOperandCheck::check(const Operands& o, bool reads_ab) const {
  check_one("c", o.c, c_bytes_);
  if (sizes_vary_) check_sizes(o.sizes);
  if (!reads_ab) return;
  check_one("a", o.a, a_bytes_);
  check_one("b", o.b, b_bytes_);
  check_apart("a", o.a, a_bytes_, a_dense_, o.c);
  check_apart("b", o.b, b_bytes_, b_dense_, o.c);
}

}  // namespace tilewright
