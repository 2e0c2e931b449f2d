// Every kind of call that the library supports for operands on a GPU, each of which can be run, reset and
// checked: for promises that hold for every kind.
#pragma once

#include <functional>

#include "support/gpu_batch.hpp"
#include "support/gpu_items.hpp"

namespace tilewright::testing {

struct GpuCall {
  std::string name;
  std::function<void(Context&, const GemmOptions&)> run;
  std::function<void()> reset;         // restores C
  std::function<std::string()> check;  // "" if C is right; the device must have finished
  std::function<std::string()> check_untouched;
  int launches = 1;  // 0: as many as its first call, for the vendor's library may compute a part
};

// Makes groups of consecutive items of one shape each.
template <class T>
std::vector<GemmGroup<T, Location::device>> groups_of(GpuItems<T>& items,
                                                      const std::vector<std::int64_t>& counts) {
  std::vector<GemmGroup<T, Location::device>> groups;
  std::int64_t first = 0;
  for (const std::int64_t count : counts) {
    const Item<T>& x = items.item(first);
    GemmGroup<T, Location::device> g;
    g.op_a = x.op_a, g.op_b = x.op_b, g.m = x.m, g.n = x.n, g.k = x.k, g.alpha = x.alpha, g.beta = x.beta;
    g.a = items.a(first), g.b = items.b(first), g.c = items.c(first);
    g.lda = std::max<std::int64_t>(1, (x.op_a == Op::none ? x.m : x.k) + x.gap);
    g.ldb = std::max<std::int64_t>(1, (x.op_b == Op::none ? x.k : x.n) + x.gap);
    g.ldc = x.m + x.gap;
    g.count = count;
    groups.push_back(g);
    first += count;
  }
  return groups;
}

// Makes a strided, interleaved or single batch, or one matrix too large for the kernels of small ones.
inline GpuCall call_of_batch(const Gpu& gpu, const std::string& text) {
  const GemmProblem p = packed(parse_problem(text + ":location=device"));
  const auto batch =
      std::make_shared<GpuBatch<double>>(gpu, p, GpuDraw{value_of(p.alpha), value_of(p.beta), 0, 3});
  const auto run = [p, batch](Context& context, const GemmOptions& options) {
    using In = InterleavedBatch<const double, Location::device>;
    GemmOptions own = options;
    if (p.m > 64 && !is_interleaved(p)) own.candidate = "gpu_large";
    if (is_interleaved(p))
      gemm_batched<double>(
          context, p.op_a, p.op_b, batch->alpha(),
          In{batch->a(), p.a_rows(), p.a_cols(), p.lda, p.block, p.batch_count},
          In{batch->b(), p.b_rows(), p.b_cols(), p.ldb, p.block, p.batch_count}, batch->beta(),
          InterleavedBatch<double, Location::device>{batch->c(), p.m, p.n, p.ldc, p.block, p.batch_count},
          own);
    else
      gemm_batched<double>(context, p.op_a, p.op_b, batch->alpha(), batch->view_a(), batch->view_b(),
                           batch->beta(), batch->view_c(), own);
  };
  return {text, run, [batch] { batch->reset(); }, [batch] { return batch->check(); },
          [batch] { return batch->check_untouched(); }};
}

// Makes items of 5 x 4 x 6, the second half of them of 3 x 9 x 5.
inline std::shared_ptr<GpuItems<double>> two_shapes(const Gpu& gpu, bool alpha_varies, bool beta_varies) {
  std::vector<Item<double>> all;
  for (int q = 0; q < 40; ++q) {
    Item<double> x{Op::none, Op::trans, q < 20 ? 5 : 3, q < 20 ? 4 : 9, q < 20 ? 6 : 5, 1};
    x.alpha = alpha_varies ? double(q % 3) : -0.75;
    x.beta = beta_varies ? double(q % 2) : 2;
    all.push_back(x);
  }
  return std::make_shared<GpuItems<double>>(gpu, all);
}

template <class F>
GpuCall call_of_items(const std::string& name, std::shared_ptr<GpuItems<double>> items, F&& run) {
  const auto bound = [items, run](Context& context, const GemmOptions& options) {
    run(*items, context, options);
  };
  return {name, bound, [items] { items->reset(); }, [items] { return items->check(); },
          [items] { return items->check_untouched(); }};
}

// Runs the first shape's items, the first `count` of all, as a pointer batch.
inline void run_pointers(GpuItems<double>& items, std::int64_t count, bool alpha_varies, bool beta_varies,
                         Context& context, const GemmOptions& options) {
  using Scalar = BatchScalar<double, Location::device>;
  using View = PointerBatch<const double, Location::device>;
  gemm_batched<double>(context, Op::none, Op::trans, alpha_varies ? Scalar(items.alphas()) : Scalar(-0.75),
                       View{items.a(), 5, 6, 6, count}, View{items.b(), 4, 6, 5, count},
                       beta_varies ? Scalar(items.betas()) : Scalar(2),
                       PointerBatch<double, Location::device>{items.c(), 5, 4, 6, count}, options);
}

inline void run_variable(GpuItems<double>& items, Context& context, const GemmOptions& options) {
  const VariableSizes s = items.sizes();
  VariableBatch<double> x;
  x.op_b = Op::trans;
  x.max_m = 5, x.max_n = 9, x.max_k = 6;
  x.m = s.m, x.n = s.n, x.k = s.k, x.lda = s.lda, x.ldb = s.ldb, x.ldc = s.ldc;
  x.a = items.a(), x.b = items.b(), x.c = items.c();
  x.alpha = -0.75, x.beta = 2;
  x.count = items.count();
  gemm_variable<double>(context, x, options);
}

inline std::vector<GpuCall> every_kind_of_call(const Gpu& gpu) {
  std::vector<GpuCall> all;
  for (const char* text : {"gemm_batched:f64:nt:m=8,n=8,k=8:strided:batch=100:beta=one",
                           "gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=100:alpha=zero:beta=general",
                           "gemm_batched:f64:tn:m=5,n=3,k=4:interleaved:batch=70:alpha=general:beta=general",
                           "gemm_batched:f64:nn:m=5,n=3,k=4:block_interleaved:batch=70:block=16",
                           "gemm_batched:f64:nt:m=100,n=80,k=90:strided:batch=1:beta=one"})
    all.push_back(call_of_batch(gpu, text));
  // A, B and C are converted, the product, and C converted back.
  all.push_back(call_of_batch(gpu, "gemm_batched:f64:nt:m=70,n=66,k=66:interleaved:batch=9:beta=one"));
  all.back().launches = 0;
  for (const bool alpha_varies : {false, true})
    for (const bool beta_varies : {false, true}) {
      std::vector<Item<double>> items;
      const auto both = two_shapes(gpu, alpha_varies, beta_varies);
      for (int q = 0; q < 20; ++q) items.push_back(both->item(q));
      all.push_back(call_of_items(std::string("pointers") + (alpha_varies ? ", alpha varies" : "") +
                                      (beta_varies ? ", beta varies" : ""),
                                  std::make_shared<GpuItems<double>>(gpu, items),
                                  [=](GpuItems<double>& x, Context& context, const GemmOptions& options) {
                                    run_pointers(x, 20, alpha_varies, beta_varies, context, options);
                                  }));
    }
  all.push_back(
      call_of_items("groups", two_shapes(gpu, false, false),
                    [](GpuItems<double>& x, Context& context, const GemmOptions& options) {
                      gemm_grouped<double, Location::device>(context, groups_of(x, {20, 20}), options);
                    }));
  all.back().launches = 2;
  all.push_back(call_of_items("variable", two_shapes(gpu, false, false), run_variable));
  return all;
}

}  // namespace tilewright::testing
