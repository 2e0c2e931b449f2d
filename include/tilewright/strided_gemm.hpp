/// @file
/// The products of gemm.hpp for views with any strides, with the same meaning: one product, batches whose
/// leading dimensions are the batch, batch-reduce, and plans that are made and run with views. gemm.hpp
/// includes this header.
/// @par Strides One stride of each matrix is 1 and the other at least the extent that it steps over; a
/// complex
///   matrix with Op::conj_trans must lie as C does. Strides along the batch are not negative. Nothing is
///   copied.
/// @par Memory As gemm.hpp.
/// @par Threads Any number of threads may call with one Context, or run one plan, at once, on different C.
/// @par Errors As gemm.hpp; also Error(invalid_argument) naming the view, its extents and its strides.
/// Nothing
///   has been written or queued then.
#pragma once

#include <type_traits>
#include <utility>

#include "tilewright/chain.hpp"
#include "tilewright/context.hpp"
#include "tilewright/options.hpp"
#include "tilewright/plan.hpp"
#include "tilewright/strided.hpp"

namespace tilewright {
inline namespace v0_2 {
namespace detail {

// A product of views as the library runs it. If the elements lie by rows, the sides are swapped: then the
// problem's A is the caller's b.
struct ProductOfViews {
  GemmProblem problem;
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  bool swapped = false;
};
template <class T>
ProductOfViews describe(Location location, Op op_a, Op op_b, Same<T> alpha, const Array<const T>& a,
                        const Array<const T>& b, Same<T> beta, const Array<T>& c);
template <class T>
void multiply(Context& context, Location location, Op op_a, Op op_b, Same<T> alpha, const Array<const T>& a,
              const Array<const T>& b, Same<T> beta, const Array<T>& c, const GemmOptions& options);
template <class T>
void multiply_and_sum(Context& context, Location location, Op op_a, Op op_b, Same<T> alpha,
                      const Array<const T>& a, const Array<const T>& b, Same<T> beta, const Array<T>& c,
                      const GemmOptions& options);
[[noreturn]] void refuse_other_problem(const GemmProblem& given, const GemmProblem& planned);

// Calls f(location, a, b, c) with the views as the library receives them.
template <class A, class B, class C, class F>
decltype(auto) with_arrays(const A& a, const B& b, const C& c, F&& f) {
  using T = ElementOf<C>;
  static_assert(!std::is_const_v<typename ViewTraits<C>::Element>,
                "c is written: its elements are not const");
  static_assert(std::is_same_v<ElementOf<A>, T>, "the elements of a and c are of different types");
  static_assert(std::is_same_v<ElementOf<B>, T>, "the elements of b and c are of different types");
  static_assert(ViewTraits<A>::location == ViewTraits<C>::location,
                "a and c lie in different memories: on_device() marks views of device memory");
  static_assert(ViewTraits<B>::location == ViewTraits<C>::location,
                "b and c lie in different memories: on_device() marks views of device memory");
  const Shape<ViewTraits<A>::rank> shape_a(a);
  const Shape<ViewTraits<B>::rank> shape_b(b);
  const Shape<ViewTraits<C>::rank> shape_c(c);
  return std::forward<F>(f)(ViewTraits<C>::location, shape_a.template of<const T>(data_of(a)),
                            shape_b.template of<const T>(data_of(b)), shape_c.template of<T>(data_of(c)));
}

}  // namespace detail

/// A plan for operands that lie like those it was made for: plan(context, op_a, op_b, alpha, a, b, beta, c)
/// makes one. It is immutable and keeps what it needs of its Context alive.
template <class T, Location L = Location::host>
class ViewPlan {
 public:
  /// C = alpha * op(A) * op(B) + beta * C for views with the extents and strides of the plan. On a GPU the
  /// work is queued on `stream`.
  /// @throws Error invalid_argument for other views, with both problems, and as GemmPlan::run().
  template <StridedArray A, StridedArray B, StridedArray C>
  void run(Same<T> alpha, const A& a, const B& b, Same<T> beta, const C& c,
           CUstream_st* stream = nullptr) const {
    const detail::ProductOfViews x = described(alpha, a, b, beta, c);
    plan_.template run<T>(alpha, static_cast<const T*>(x.a), static_cast<const T*>(x.b), beta,
                          static_cast<T*>(x.c), stream);
  }

  /// Returns the same as a pass of a chain (chain.hpp), which the plan and the operands must outlive.
  /// @throws Error invalid_argument as run().
  template <StridedArray A, StridedArray B, StridedArray C>
  ChainPass<T> pass(Same<T> alpha, const A& a, const B& b, Same<T> beta, const C& c) const {
    const detail::ProductOfViews x = described(alpha, a, b, beta, c);
    return {
        &plan_, alpha, static_cast<const T*>(x.a), static_cast<const T*>(x.b), beta, static_cast<T*>(x.c)};
  }

  /// Returns the plan of the column-major problem; for views by rows that is C^T = op(B)^T op(A)^T. It lives
  /// as long as this object. It throws nothing.
  const GemmPlan& plan() const noexcept { return plan_; }

  /// Makes it of the plan of a problem of views; plan() calls this.
  ViewPlan(GemmPlan plan, const GemmProblem& problem, Op op_a, Op op_b)
      : plan_(std::move(plan)), problem_(problem), op_a_(op_a), op_b_(op_b) {}

 private:
  template <class A, class B, class C>
  detail::ProductOfViews described(T alpha, const A& a, const B& b, T beta, const C& c) const {
    static_assert(std::is_same_v<ElementOf<C>, T>, "the plan is for elements of another type");
    static_assert(detail::ViewTraits<C>::location == L, "the plan is for operands in another memory");
    detail::ProductOfViews x = detail::with_arrays(
        a, b, c, [&](Location location, const auto& array_a, const auto& array_b, const auto& array_c) {
          return detail::describe<T>(location, op_a_, op_b_, alpha, array_a, array_b, beta, array_c);
        });
    x.problem.alpha = problem_.alpha, x.problem.beta = problem_.beta;
    if (x.problem != problem_) detail::refuse_other_problem(x.problem, problem_);
    return x;
  }

  GemmPlan plan_;
  GemmProblem problem_;
  Op op_a_, op_b_;
};

}  // namespace v0_2

/// gemm() of views with any strides.
/// @par Shapes op(A) is m x k, op(B) k x n and C m x n; views describe matrices as stored, before op.
/// @throws Error as gemm(), and invalid_argument naming the view, its extents and its strides.
/// @see BLAS xGEMM; std::linalg::matrix_product (C++26)
template <StridedMatrix A, StridedMatrix B, StridedMatrix C>
requires StridedOperands<A, B, C>
void gemm(Context& context, Op op_a, Op op_b, ElementOf<C> alpha, const A& a, const B& b, ElementOf<C> beta,
          const C& c, const GemmOptions& options = default_options()) {
  detail::with_arrays(a, b, c, [&](Location location, const auto& x, const auto& y, const auto& z) {
    detail::multiply<ElementOf<C>>(context, location, op_a, op_b, alpha, x, y, beta, z, options);
  });
}

/// gemm_batched() of views with any strides.
/// The last two dimensions are the matrix and those before them the batch; a and b broadcast as in NumPy if
/// they have fewer of those, or extents of 1. Any number of dimensions is valid: up to three levels that
/// cannot be joined are computed at once, more in several steps.
/// @throws Error as gemm() of such views, and invalid_argument for shapes that do not broadcast or if two
///   matrices of C share elements.
/// @see P2901 (batched linear algebra: leading extents are the batch)
template <StridedArray A, StridedArray B, StridedArray C>
requires StridedOperands<A, B, C>
void gemm_batched(Context& context, Op op_a, Op op_b, ElementOf<C> alpha, const A& a, const B& b,
                  ElementOf<C> beta, const C& c, const GemmOptions& options = default_options()) {
  detail::with_arrays(a, b, c, [&](Location location, const auto& x, const auto& y, const auto& z) {
    detail::multiply<ElementOf<C>>(context, location, op_a, op_b, alpha, x, y, beta, z, options);
  });
}

/// gemm_batch_reduce() of views with any strides.
/// c is a matrix, and the batches of a and b broadcast to one another. Several levels that cannot be joined
/// are supported on the host only.
/// @throws Error as gemm_batched() of such views, unsupported on a GPU if levels cannot be joined.
template <StridedArray A, StridedArray B, StridedMatrix C>
requires StridedOperands<A, B, C>
void gemm_batch_reduce(Context& context, Op op_a, Op op_b, ElementOf<C> alpha, const A& a, const B& b,
                       ElementOf<C> beta, const C& c, const GemmOptions& options = default_options()) {
  detail::with_arrays(a, b, c, [&](Location location, const auto& x, const auto& y, const auto& z) {
    detail::multiply_and_sum<ElementOf<C>>(context, location, op_a, op_b, alpha, x, y, beta, z, options);
  });
}

/// Returns the column-major problem of a product of views, for explain(), prepare() and tune(). No element is
/// read.
/// @throws Error as gemm_batched() of such views, unsupported if it takes several steps.
template <StridedArray A, StridedArray B, StridedArray C>
GemmProblem problem_of(Op op_a, Op op_b, ElementOf<C> alpha, const A& a, const B& b, ElementOf<C> beta,
                       const C& c) {
  return detail::with_arrays(a, b, c, [&](Location location, const auto& x, const auto& y, const auto& z) {
    return detail::describe<ElementOf<C>>(location, op_a, op_b, alpha, x, y, beta, z).problem;
  });
}

/// Makes the plan of a product of views, of one matrix or a batch. No element is read.
/// @throws Error as problem_of() and plan() of a problem.
template <StridedArray A, StridedArray B, StridedArray C>
ViewPlan<ElementOf<C>, detail::ViewTraits<C>::location> plan(Context& context, Op op_a, Op op_b,
                                                             ElementOf<C> alpha, const A& a, const B& b,
                                                             ElementOf<C> beta, const C& c,
                                                             const GemmOptions& options = default_options()) {
  const GemmProblem problem = problem_of(op_a, op_b, alpha, a, b, beta, c);
  return {plan(context, problem, options), problem, op_a, op_b};
}

}  // namespace tilewright
