// cuBLAS as a contestant.
#include "gemm_small_peers.hpp"

#include <algorithm>
#include <numeric>

namespace tilewright::bench {

BlasPeer::BlasPeer(GpuBlas& blas, const Gpu& gpu, const SmallLoad& load, void* a, void* b, void* c)
    : blas_(blas), load_(load), batch_(load.batch()), arrays_(gpu, batch_), bases_{a, b, c} {
  const GemmProblem& p = batch_.one().problem;
  const bool real = !is_complex(p.dtype);
  if (p.layout == Layout::variable)
    name_ = real && batch_.one().square ? "cublas_grouped" : "";
  else
    name_ = batch_.by_pointer() ? "cublas_pointer" : "cublas_strided";
  if (batch_.one().scalars_vary) name_.clear();
  if (!name_.empty()) prepare_groups();
}

void BlasPeer::prepare_groups() {
  const GemmProblem& p = batch_.one().problem;
  const bool wide = p.dtype == DType::f64 || p.dtype == DType::c128;
  const auto scalar = [&](bool one) -> const void* {
    if (wide) return one ? &one_ : &zero_;  // a complex number begins with its real part
    if (is_complex(p.dtype)) return one ? &one_c_ : &zero_c_;
    return one ? &one_f_ : &zero_f_;
  };
  const auto group = [&](const GemmProblem& own, std::int64_t count) {
    groups_.push_back({p.dtype, p.op_a, p.op_b, int(own.m), int(own.n), int(own.k), scalar(true), bases_[0],
                       int(own.lda), own.stride_a, bases_[1], int(own.ldb), own.stride_b,
                       scalar(p.beta != Scalar::zero), bases_[2], int(own.ldc), own.stride_c, int(count)});
  };
  if (batch_.sizes_vary()) {
    order_.resize(static_cast<std::size_t>(batch_.count()));
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(), [&](auto x, auto y) {
      return batch_.sizes(0)[std::size_t(x)] < batch_.sizes(0)[std::size_t(y)];
    });
    for (std::size_t i = 0; i < order_.size();) {
      std::size_t end = i;
      const auto size = [&](std::size_t at) { return batch_.sizes(0)[std::size_t(order_[at])]; };
      while (end < order_.size() && size(end) == size(i)) ++end;
      group(batch_.problem(order_[i]), std::int64_t(end - i));
      i = end;
    }
  } else if (p.block > 0) {  // the same problems, one after the other
    GemmProblem plain = p;
    plain.stride_a = p.lda * p.a_cols();
    plain.stride_b = p.ldb * p.b_cols();
    plain.stride_c = p.ldc * p.n;
    group(plain, batch_.count());
  } else {
    group(p, batch_.count());
  }
  if (!batch_.by_pointer()) return;
  arrays_.set_all(static_cast<const char*>(bases_[0]), static_cast<const char*>(bases_[1]),
                  static_cast<char*>(bases_[2]), order_);
  groups_[0].a = arrays_.addresses(0).as<void>();
  groups_[0].b = arrays_.addresses(1).as<void>();
  groups_[0].c = arrays_.addresses(2).as<void>();
}

void BlasPeer::launch(std::int64_t turn) {
  if (batch_.sizes_vary()) return blas_.gemm_grouped(groups_);
  if (batch_.by_pointer()) return blas_.gemm_pointers(groups_[0]);
  GpuBlas::Batch batch = groups_[0];
  batch.a = static_cast<const char*>(batch.a) + load_.offset(0, turn);
  batch.b = static_cast<const char*>(batch.b) + load_.offset(1, turn);
  batch.c = static_cast<char*>(batch.c) + load_.offset(2, turn);
  blas_.gemm_strided(batch);
}

}  // namespace tilewright::bench
