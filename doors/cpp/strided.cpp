// Products of views with any strides for the four element types. A single product on the host whose matrices
// lie by columns or by rows takes the fast path of gemm.cpp; everything else is described by a Product.
#include <memory>

#include "core/access.hpp"
#include "core/dispatch.hpp"
#include "core/product/product.hpp"
#include "core/refuse.hpp"
#include "gemm/call.hpp"
#include "gemm/cpu_small/calls.hpp"
#include "gemm/sums/calls.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright {
namespace {

using detail::Array;
using detail::ProductOfViews;

// The arguments of a product, before the library has looked at them.
template <class T>
struct Terms {
  Location location;
  Op op_a, op_b;
  T alpha;
  const Array<const T>&a, &b;
  T beta;
  const Array<T>& c;
};

std::string list_text(const std::int64_t* values, int count) {
  std::string text = "(";
  for (int i = 0; i < count; ++i) text += fmt::format("{}{}", i > 0 ? ", " : "", values[i]);
  return text + ")";
}

// The array as its matrices are multiplied: transposed where `op` says so.
template <class T>
ArrayView as_multiplied(const char* name, const Array<T>& x, Op op, Location location) {
  ArrayView view;
  view.data = reinterpret_cast<char*>(const_cast<std::remove_const_t<T>*>(x.data));
  view.dtype = dtype_of<T>;
  view.location = location;
  view.ndim = x.rank;
  for (int i = 0; i < x.rank; ++i) {
    if (x.extents[i] < 0)
      refuse_argument(name, fmt::format("extent {} of {} is {}, which is negative", i, name, x.extents[i]));
    view.shape[i] = x.extents[i], view.strides[i] = x.strides[i];
  }
  if (op == Op::none) return view;
  std::swap(view.shape[x.rank - 1], view.shape[x.rank - 2]);
  std::swap(view.strides[x.rank - 1], view.strides[x.rank - 2]);
  return view;
}

// True if kernels can run the matrices as they lie, by columns or by rows.
template <class T>
bool lies_well(const Array<T>& x) {
  for (int i = 0; i < x.rank - 2; ++i)
    if (x.extents[i] > 1 && x.strides[i] < 0) return false;
  const std::int64_t *extents = x.extents + x.rank - 2, *strides = x.strides + x.rank - 2;
  const auto by = [&](int along, int across) {
    return (extents[along] <= 1 || strides[along] == 1) &&
           (extents[across] <= 1 || strides[across] >= std::max<std::int64_t>(1, extents[along]));
  };
  return by(0, 1) || by(1, 0);
}

template <class T>
[[noreturn]] void refuse_operand(const char* name, const Array<T>& x, Op op) {
  const std::string lies = fmt::format("{} has the extents {} and the strides {}", name,
                                       list_text(x.extents, x.rank), list_text(x.strides, x.rank));
  if (lies_well(x))
    refuse_argument(name, fmt::format("{}, but with op_{} = {} it would be conjugated without being "
                                      "transposed, which no kernel does: store it in the order of c",
                                      lies, name, to_string(op)));
  refuse_argument(
      name, fmt::format("{}: the stride of rows or of columns must be 1, the other one at least the extent "
                        "that it steps over, and none of the batch negative",
                        lies));
}

template <class T>
[[noreturn]] void refuse_result(const Array<T>& c) {
  refuse_argument(
      "c", fmt::format("c has the extents {} and the strides {}: the stride of rows or of "
                       "columns must be 1, none of the batch negative, and no two elements may overlap",
                       list_text(c.extents, c.rank), list_text(c.strides, c.rank)));
}

void check_op(const char* name, Op op) {
  if (op > Op::conj_trans) refuse_argument(name, unnamed_text<Op>(name, int(static_cast<signed char>(op))));
}

template <class T>
Factors factors_of(const Terms<T>& x, bool sum) {
  Factors factors;
  factors.alpha = x.alpha, factors.beta = x.beta;
  factors.conj_a = x.op_a == Op::conj_trans, factors.conj_b = x.op_b == Op::conj_trans;
  factors.sum = sum, factors.c_name = "c", factors.apart = true;
  return factors;
}

// C as it is for a sum: the same matrix for every problem of the batch that a and b broadcast to.
ArrayView repeated(const ArrayView& c, const ArrayView& a, const ArrayView& b) {
  ArrayView result = c;
  result.ndim = std::max(a.ndim, b.ndim);
  const int levels = result.ndim - 2;
  for (int i = 0; i < levels; ++i) {
    const int in_a = i - (result.ndim - a.ndim), in_b = i - (result.ndim - b.ndim);
    const std::int64_t of_a = in_a < 0 ? 1 : a.shape[in_a];
    result.shape[i] = of_a != 1 || in_b < 0 ? of_a : b.shape[in_b];
    result.strides[i] = 0;
  }
  for (int i = 0; i < 2; ++i)
    result.shape[levels + i] = c.shape[i], result.strides[levels + i] = c.strides[i];
  return result;
}

// Throws where the arrays cannot be multiplied as they lie.
template <class T>
Product product_of(const Terms<T>& x, bool sum) {
  check_op("op_a", x.op_a), check_op("op_b", x.op_b);
  const ArrayView a = as_multiplied("a", x.a, x.op_a, x.location);
  const ArrayView b = as_multiplied("b", x.b, x.op_b, x.location);
  const ArrayView c = as_multiplied("c", x.c, Op::none, x.location);
  Product product(a, b, sum ? repeated(c, a, b) : c, factors_of(x, sum));
  if (product.copies() & copy_c) refuse_result(x.c);
  if (product.copies() & copy_a) refuse_operand("a", x.a, x.op_a);
  if (product.copies() & copy_b) refuse_operand("b", x.b, x.op_b);
  return product;
}

ProductOfViews described(const Product& product) {
  return {product.problem(), product.a().data, product.b().data, product.c().data, product.swapped()};
}

struct Described {
  ProductOfViews product;
  bool is_written, takes_several_calls;
};
// The arrays take several KiB of the stack, which is free again when this returns.
template <class T>
[[gnu::noinline]] Described describe_terms(const Terms<T>& x, bool sum) {
  const Product product = product_of(x, sum);
  return {described(product), product.is_written(), product.levels().size() > most_batch_levels};
}

constexpr ArgumentNames names_by_rows = swapped(argument_names_of_views);
const ArgumentNames& names_of(const ProductOfViews& x) {
  return x.swapped ? names_by_rows : argument_names_of_views;
}

template <class T>
void run_described(Context& context, const ProductOfViews& x, const Terms<T>& terms,
                   const GemmOptions& options) {
  ProductCall call{x.problem, {x.a, x.b, x.c, &terms.alpha, &terms.beta}, names_of(x)};
  run_call(Access::impl(context), call, options, {});
}

// More levels than a call has: one call for each part of those around them.
template <class T>
[[gnu::noinline]] void run_levels(Context& context, const Terms<T>& terms, const GemmOptions& options) {
  const auto product = std::make_unique<const Product>(product_of(terms, false));
  const ProductOfViews first = described(*product);
  product->for_each_call([&](std::int64_t a, std::int64_t b, std::int64_t c) {
    ProductOfViews part = first;
    part.a = static_cast<const T*>(first.a) + a, part.b = static_cast<const T*>(first.b) + b;
    part.c = static_cast<T*>(first.c) + c;
    run_described(context, part, terms, options);
  });
}

// One matrix by columns, or one by rows as its transpose; false where it is neither, or where it would have
// to be conjugated without being transposed.
template <class T>
bool as_side(const Array<const T>& x, Op op, bool by_rows, Op& to_op, MatrixView<const T>& to) {
  const std::int64_t rows = x.extents[0], cols = x.extents[1];
  const bool columns = x.strides[0] == 1 && x.strides[1] >= rows;
  if (!columns && !(x.strides[1] == 1 && x.strides[0] >= cols)) return false;
  to = columns ? MatrixView<const T>{x.data, rows, cols, x.strides[1]}
               : MatrixView<const T>{x.data, cols, rows, x.strides[0]};
  to_op = op;
  if (columns != by_rows) return true;
  if (op == Op::conj_trans && is_complex(dtype_of<T>)) return false;
  to_op = op == Op::none ? Op::trans : Op::none;
  return true;
}

// Runs the product on the fast path and returns true, or returns false.
template <class T>
bool run_directly(Context& context, const Terms<T>& x, const GemmOptions& options) {
  if (x.location != Location::host || x.a.rank != 2 || x.b.rank != 2 || x.c.rank != 2) return false;
  const std::int64_t rows = x.c.extents[0], cols = x.c.extents[1];
  const bool columns = x.c.strides[0] == 1 && x.c.strides[1] >= rows;
  if (!columns && !(x.c.strides[1] == 1 && x.c.strides[0] >= cols)) return false;
  Op op_a = x.op_a, op_b = x.op_b;
  MatrixView<const T> a, b;
  if (!as_side(x.a, x.op_a, !columns, op_a, a) || !as_side(x.b, x.op_b, !columns, op_b, b)) return false;
  Context::Impl& impl = Access::impl(context);
  if (columns)
    return run_single<T>(impl, op_a, op_b, x.alpha, a, b, x.beta, {x.c.data, rows, cols, x.c.strides[1]},
                         options);
  return run_single<T>(impl, op_b, op_a, x.alpha, b, a, x.beta, {x.c.data, cols, rows, x.c.strides[0]},
                       options);
}

// Products of batches of several levels, one address each.
template <class T>
[[gnu::noinline]] void sum_by_addresses(Context& context, const Terms<T>& terms, const GemmOptions& options) {
  if (terms.location == Location::device)
    throw Error(ErrorCode::unsupported, "a",
                "batch-reduce over several levels that cannot be joined is supported in host memory only");
  const auto product = std::make_unique<const Product>(product_of(terms, true));
  const Product::Addresses at = product->addresses();
  Operands o{at.a.data(), at.b.data(), product->c().data, &terms.alpha, &terms.beta};
  run_batch_reduce(Access::impl(context), product->problem(), o, options, names_of(described(*product)));
}

}  // namespace

inline namespace v0_2 {
namespace detail {

void refuse_columns(const char* name, std::int64_t row_stride, std::int64_t col_stride) {
  refuse_argument(name, fmt::format("{} has the strides ({}, {}): the elements of a column must be adjacent, "
                                    "and columns must not overlap",
                                    name, row_stride, col_stride));
}

void refuse_other_problem(const GemmProblem& given, const GemmProblem& planned) {
  refuse_argument("c", fmt::format("the views make the problem {}, but the plan is for {}", to_string(given),
                                   to_string(planned)));
}

template <class T>
ProductOfViews describe(Location location, Op op_a, Op op_b, Same<T> alpha, const Array<const T>& a,
                        const Array<const T>& b, Same<T> beta, const Array<T>& c) {
  const Described x = describe_terms(Terms<T>{location, op_a, op_b, alpha, a, b, beta, c}, false);
  if (x.takes_several_calls)
    throw Error(ErrorCode::unsupported, "c",
                fmt::format("the batch of c, with extents {}, has more than three levels that cannot be "
                            "joined: it needs several calls and cannot be planned",
                            list_text(c.extents, c.rank)));
  return x.product;
}

template <class T>
void multiply(Context& context, Location location, Op op_a, Op op_b, Same<T> alpha, const Array<const T>& a,
              const Array<const T>& b, Same<T> beta, const Array<T>& c, const GemmOptions& options) {
  const Terms<T> terms{location, op_a, op_b, alpha, a, b, beta, c};
  if (run_directly(context, terms, options)) return;
  const Described x = describe_terms(terms, false);
  if (!x.is_written) return;
  if (x.takes_several_calls) return run_levels(context, terms, options);
  run_described(context, x.product, terms, options);
}

template <class T>
void multiply_and_sum(Context& context, Location location, Op op_a, Op op_b, Same<T> alpha,
                      const Array<const T>& a, const Array<const T>& b, Same<T> beta, const Array<T>& c,
                      const GemmOptions& options) {
  const Terms<T> terms{location, op_a, op_b, alpha, a, b, beta, c};
  const Described x = describe_terms(terms, true);
  if (!x.is_written) return;
  if (x.product.problem.layout == Layout::pointer) return sum_by_addresses(context, terms, options);
  const Operands o{x.product.a, x.product.b, x.product.c, &terms.alpha, &terms.beta};
  run_batch_reduce(Access::impl(context), x.product.problem, o, options, names_of(x.product));
}

#define TILEWRIGHT_INSTANTIATE(T)                                                                           \
  template ProductOfViews describe(Location, Op, Op, Same<T>, const Array<const T>&, const Array<const T>&, \
                                   Same<T>, const Array<T>&);                                               \
  template void multiply(Context&, Location, Op, Op, Same<T>, const Array<const T>&, const Array<const T>&, \
                         Same<T>, const Array<T>&, const GemmOptions&);                                     \
  template void multiply_and_sum(Context&, Location, Op, Op, Same<T>, const Array<const T>&,                \
                                 const Array<const T>&, Same<T>, const Array<T>&, const GemmOptions&);
TILEWRIGHT_FOR_TYPES(TILEWRIGHT_INSTANTIATE)
#undef TILEWRIGHT_INSTANTIATE

}  // namespace detail
}  // namespace v0_2
}  // namespace tilewright
