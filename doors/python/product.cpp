// Runs products of arrays: single ones, batches by their levels, and batch-reduce sums.
#include "product.hpp"

namespace tilewright::python {
namespace {

template <class T, Location L>
class Call {
 public:
  Call(const Product& product, Context& context, const GemmOptions& options)
      : product_(product), context_(context), options_(options) {}

  void single() const {
    gemm(context_, product_.a().op, product_.b().op, alpha_, a(0), b(0), beta_, c(0), options_);
  }

  // Runs the batch levels of one call; each operand begins this many elements after its first one.
  void batch(std::int64_t at_a, std::int64_t at_b, std::int64_t at_c) const {
    const std::span<const Product::Level> levels = product_.levels();
    Product::Level of[most_batch_levels] = {{1, 0, 0, 0}, {1, 0, 0, 0}, {1, 0, 0, 0}};  // the innermost first
    for (std::size_t i = 0; i < std::min(levels.size(), most_batch_levels); ++i)
      of[i] = levels[levels.size() - 1 - i];
    const auto as = [&]<class U>(const MatrixView<U, L>& x, std::int64_t Product::Level::*stride) {
      return StridedBatch<U, L>{{x.data, x.rows, x.cols, x.ld}, of[0].*stride, of[0].count}
          .repeat(of[1].*stride, of[1].count)
          .repeat(of[2].*stride, of[2].count);
    };
    using Value = BatchScalar<T, L>;
    gemm_batched(context_, product_.a().op, product_.b().op, Value(alpha_), as(a(at_a), &Product::Level::a),
                 as(b(at_b), &Product::Level::b), Value(beta_), as(c(at_c), &Product::Level::c), options_);
  }

  // Adds all products to one C: one call for one level, a list of addresses for more.
  void sum(const GemmProblem& p) const requires(L == Location::host) {
    if (p.layout == Layout::strided) {
      const auto batch_of = [&](const MatrixView<const T>& x, std::int64_t stride) {
        return StridedBatch<const T>{{x.data, x.rows, x.cols, x.ld}, stride, p.batch_count};
      };
      return gemm_batch_reduce(context_, p.op_a, p.op_b, alpha_, batch_of(a(0), p.stride_a),
                               batch_of(b(0), p.stride_b), beta_, c(0), options_);
    }
    const Product::Addresses at = product_.addresses();
    const auto batch_of = [](const std::vector<char*>& list, const MatrixView<const T>& x) {
      return PointerBatch<const T>{reinterpret_cast<const T* const*>(list.data()), x.rows, x.cols, x.ld,
                                   std::int64_t(list.size())};
    };
    gemm_batch_reduce(context_, p.op_a, p.op_b, alpha_, batch_of(at.a, a(0)), batch_of(at.b, b(0)), beta_,
                      c(0), options_);
  }

 private:
  MatrixView<const T, L> a(std::int64_t at) const {
    const Product& p = product_;
    const bool plain = p.a().op == Op::none;
    return {address<const T>(p.a(), at), plain ? p.m() : p.k(), plain ? p.k() : p.m(), p.a().ld};
  }
  MatrixView<const T, L> b(std::int64_t at) const {
    const Product& p = product_;
    const bool plain = p.b().op == Op::none;
    return {address<const T>(p.b(), at), plain ? p.k() : p.n(), plain ? p.n() : p.k(), p.b().ld};
  }
  MatrixView<T, L> c(std::int64_t at) const {
    return {address<T>(product_.c(), at), product_.m(), product_.n(), product_.c().ld};
  }
  template <class U>
  static U* address(const Product::Matrix& x, std::int64_t at) {
    return reinterpret_cast<U*>(x.data) + at;
  }

  const Product& product_;
  const T alpha_ = scalar<T>(product_.factors().alpha), beta_ = scalar<T>(product_.factors().beta);
  Context& context_;
  const GemmOptions& options_;
};

template <class T, Location L>
void run_at(const Product& product, Context& context, const GemmOptions& options) {
  const Call<T, L> call(product, context, options);
  if (product.levels().empty()) return call.single();
  product.for_each_call([&](std::int64_t a, std::int64_t b, std::int64_t c) { call.batch(a, b, c); });
}

}  // namespace

void run_product(const Product& product, Context& context, const GemmOptions& options) {
  if (!product.is_written()) return;
  with_type(product.dtype(), [&]<class T>(T) {
    if (product.factors().sum)
      Call<T, Location::host>(product, context, options).sum(product.problem());
    else if (product.location() == Location::host)
      run_at<T, Location::host>(product, context, options);
    else
      run_at<T, Location::device>(product, context, options);
  });
}

}  // namespace tilewright::python
