// Plans for systems, inverses and refinement by factors in the memory of a GPU. Systems are solved by blocks
// of the diagonal with products in between. Blocks of U whose inverse would overflow are solved by division.
#include "lu/device/system.hpp"

#include <algorithm>

#include "core/dispatch.hpp"
#include "kernel/lu_rows/config.hpp"
#include "lu/device/plan.hpp"
#include "lu/validate.hpp"

namespace tilewright {
namespace {

// cuBLAS needs longer for products with one column than for those with sixteen.
constexpr std::int64_t least_columns = 16, narrow_from = 2000;

}  // namespace

DeviceLuSystem::DeviceLuSystem(std::shared_ptr<LuTools> tools, const LuSystemShape& shape)
    : tools_(std::move(tools)),
      shape_(shape),
      nb_(shape.n <= 2000 ? 128 : GpuLuSystem::most_inverted),
      columns_(shape.n > narrow_from ? std::max(least_columns, shape.nrhs) : shape.nrhs),
      kernels_(tools_->system(shape.dtype)) {
  require_blas_sizes({{"n", shape.n}, {"nrhs", shape.nrhs}, {"lda", shape.lda}, {"ldb", shape.ldb}});
  LuLayout all;
  order_at_ = all.take(shape.n * 4);
  inverses_at_ = all.take(2 * ((shape.n + nb_ - 1) / nb_) * nb_ * nb_ * element_bytes());
  must_divide_at_ = all.take((shape.n + nb_ - 1) / nb_ * lu_inverse_groups(int(nb_)) * 4);
  copy_at_ = all.take(shape.n * columns_ * element_bytes());
  if (columns_ > shape.nrhs) wide_at_ = all.take(shape.n * columns_ * element_bytes());
  blas_at_ = all.take(LuTools::products_bytes);
  bytes_ = all.bytes();
}

LuBlock DeviceLuSystem::lu_at(std::int64_t row, std::int64_t column) const {
  auto* const at = static_cast<const char*>(operands_.lu) + (column * shape_.lda + row) * element_bytes();
  return {const_cast<char*>(at), shape_.lda};
}

LuBlock DeviceLuSystem::rows_of(const LuBlock& block, std::int64_t row) const {
  return {static_cast<char*>(block.data) + row * element_bytes(), block.ld};
}

LuBlock DeviceLuSystem::inverse(bool is_lower, std::int64_t block, std::int64_t rows) const {
  const std::int64_t blocks = (shape_.n + nb_ - 1) / nb_;
  return {workspace(inverses_at_ + (block + (is_lower ? 0 : blocks)) * nb_ * nb_ * element_bytes()), rows};
}

int* DeviceLuSystem::must_divide(std::int64_t block) const {
  return reinterpret_cast<int*>(workspace(must_divide_at_)) + block * lu_inverse_groups(int(nb_));
}

void DeviceLuSystem::solve_triangle(bool is_lower, bool forwards, const LuBlock& from, const LuBlock& other,
                                    CUstream_st* stream) {
  const std::int64_t n = shape_.n, blocks = (n + nb_ - 1) / nb_;
  const Op op = shape_.op;
  for (std::int64_t i = 0; i < blocks; ++i) {
    const std::int64_t block = forwards ? i : blocks - 1 - i;
    const std::int64_t first = block * nb_, rows = std::min(nb_, n - first), end = first + rows;
    multiply(op, rows, rows, 1, inverse(is_lower, block, rows), rows_of(from, first), 0,
             rows_of(other, first));
    if (!is_lower)
      kernels_.divide(op, lu_at(first, first), rows, columns_, rows_of(from, first), rows_of(other, first),
                      must_divide(block), nb_, stream);
    // The rest of the right-hand sides, below or above.
    const std::int64_t at = forwards ? end : 0, left = forwards ? n - end : first;
    const LuBlock a = op == Op::none ? lu_at(at, first) : lu_at(first, at);
    multiply(op, left, rows, -1, a, rows_of(other, first), 1, rows_of(from, at));
  }
}

void DeviceLuSystem::solve(const LuSystemOperands& operands, CUstream_st* stream) {
  if (shape_.n == 0 || shape_.nrhs == 0) return;
  const std::lock_guard lock(tools_->mutex());
  const Gpu::Current current(tools_->gpu());
  operands_ = operands;
  tools_->blas(LuLane::panel).set_stream(stream);
  tools_->blas(LuLane::panel).set_workspace(workspace(blas_at_), LuTools::products_bytes);
  int* const order = reinterpret_cast<int*>(workspace(order_at_));
  const bool is_wide = columns_ > shape_.nrhs;
  const LuBlock given{operands.b, shape_.ldb}, copy{workspace(copy_at_), shape_.n};
  const LuBlock b = is_wide ? LuBlock{workspace(wide_at_), shape_.n} : given;
  if (is_wide) clear(copy, stream);
  kernels_.invert(lu_at(0, 0), shape_.n, nb_, workspace(inverses_at_), must_divide(0), stream);
  kernels_.order(operands.pivots, shape_.n, order, stream);
  const GpuLuRows& rows = tools_->rows(shape_.dtype, LuTools::any_width);
  // With the factors of A, P A = L U: A x = b by L and U, A^T x = b by U^T, L^T and the swaps backwards.
  if (shape_.op == Op::none) {
    kernels_.take(given, copy, shape_.n, shape_.nrhs, order, false, stream);
    solve_triangle(true, true, copy, b, stream);
    solve_triangle(false, false, b, copy, stream);
    rows.copy(copy, given, shape_.n, shape_.nrhs, stream);
  } else {
    rows.copy(given, copy, shape_.n, shape_.nrhs, stream);
    solve_triangle(false, true, copy, b, stream);
    solve_triangle(true, false, b, copy, stream);
    kernels_.take(copy, given, shape_.n, shape_.nrhs, order, true, stream);
  }
}

// Clears the columns beside the right-hand sides, which stay zero.
void DeviceLuSystem::clear(const LuBlock& block, CUstream_st* stream) const {
  const std::uint32_t zero = 0;
  const std::int64_t words =
      shape_.n * (columns_ - shape_.nrhs) * element_bytes() / std::int64_t(sizeof zero);
  tools_->gpu().fill(static_cast<char*>(block.data) + shape_.n * shape_.nrhs * element_bytes(), &zero,
                     sizeof zero, words, stream);
}

namespace {

struct LuRefineShape {
  DType dtype = DType::f64;
  Op op = Op::none;
  std::int64_t n = 0, nrhs = 0, lda = 0, ldlu = 0, ldb = 0, ldx = 0;
  int steps = 0;
};

struct LuRefineOperands {
  const void *a = nullptr, *lu = nullptr;
  const long long* pivots = nullptr;
  const void* b = nullptr;
  void* x = nullptr;
  double* errors = nullptr;   // nrhs
  void* workspace = nullptr;  // workspace_bytes(), at a multiple of 256
};

DType real_of(DType dtype) { return dtype == DType::f32 || dtype == DType::c64 ? DType::f32 : DType::f64; }

// Iterative refinement (LAPACK xGERFS without its forward bound): r = b - op(A) x, dx = inv(op(A)) r, x + dx,
// for each column as long as that halves its componentwise backward error. All steps are queued; a column
// that has ended is not changed by them.
class DeviceLuRefinement {
 public:
  // Compiles missing kernels. Throws as DeviceLuSystem does.
  DeviceLuRefinement(std::shared_ptr<LuTools> tools, const LuRefineShape& shape)
      : tools_(std::move(tools)),
        shape_(shape),
        system_(tools_, {shape.dtype, shape.op, shape.n, shape.nrhs, shape.ldlu, shape.n}),
        kernels_(tools_->refine(shape.dtype)) {
    require_blas_sizes({{"lda", shape.lda}, {"ldb", shape.ldb}, {"ldx", shape.ldx}});
    LuLayout all;
    const std::int64_t element = size_bytes(shape.dtype), real = size_bytes(real_of(shape.dtype));
    magnitudes_at_ = all.take(shape.n * shape.n * real);
    x_at_ = all.take(shape.n * shape.nrhs * real);
    bound_at_ = all.take(shape.n * shape.nrhs * real);
    residual_at_ = all.take(shape.n * shape.nrhs * element);
    progress_at_ = all.take(shape.nrhs * std::int64_t(sizeof(LuRefined)));
    blas_at_ = all.take(LuTools::products_bytes);
    system_at_ = all.take(system_.workspace_bytes());
    bytes_ = all.bytes();
  }

  const LuRefineShape& shape() const { return shape_; }
  std::int64_t workspace_bytes() const { return bytes_; }
  // By several threads, one at a time.
  void refine(const LuRefineOperands& o, CUstream_st* stream) {
    const std::int64_t n = shape_.n, nrhs = shape_.nrhs;
    if (n == 0 || nrhs == 0) return;
    const Gpu::Current current(tools_->gpu());
    char* const workspace = static_cast<char*>(o.workspace);
    auto* const progress = reinterpret_cast<LuRefined*>(workspace + progress_at_);
    constexpr double begin_error = 3;  // above any, so that the first step is made
    const LuRefined begin{0, begin_error, 1};
    tools_->gpu().fill(progress, &begin, sizeof begin, nrhs, stream);
    kernels_.magnitudes({const_cast<void*>(o.a), shape_.lda}, {workspace + magnitudes_at_, n}, n, n, stream);
    for (int step = 0;; ++step) {
      {
        const std::lock_guard lock(tools_->mutex());
        tools_->blas(LuLane::panel).set_stream(stream);
        tools_->blas(LuLane::panel).set_workspace(workspace + blas_at_, LuTools::products_bytes);
        residuals(o, stream);
      }
      kernels_.backward_error(workspace + residual_at_, workspace + bound_at_, n, nrhs, progress, stream);
      kernels_.go_on(progress, o.errors, nrhs, stream);
      if (step == shape_.steps) return;
      system_.solve({o.lu, o.pivots, workspace + residual_at_, workspace + system_at_}, stream);
      kernels_.improve(workspace + residual_at_, {o.x, shape_.ldx}, n, nrhs, progress, stream);
    }
  }

 private:
  // r = b - op(A) x, and the bound |op(A)| |x| + |b|, by the real type of the elements' parts.
  void residuals(const LuRefineOperands& o, CUstream_st* stream) const {
    const auto at = [&](std::int64_t offset) {
      return LuBlock{static_cast<char*>(o.workspace) + offset, shape_.n};
    };
    const std::int64_t n = shape_.n, nrhs = shape_.nrhs;
    const LuBlock a{const_cast<void*>(o.a), shape_.lda}, b{const_cast<void*>(o.b), shape_.ldb};
    const LuBlock x{o.x, shape_.ldx};
    tools_->rows(shape_.dtype, LuTools::any_width).copy(b, at(residual_at_), n, nrhs, stream);
    multiply_add(shape_.dtype, -1, a, x, at(residual_at_));
    kernels_.magnitudes(x, at(x_at_), n, nrhs, stream);
    kernels_.magnitudes(b, at(bound_at_), n, nrhs, stream);
    multiply_add(real_of(shape_.dtype), 1, at(magnitudes_at_), at(x_at_), at(bound_at_));
  }

  // C += factor op(A) B, of the elements' type or of the real one of their parts.
  void multiply_add(DType dtype, double factor, const LuBlock& a, const LuBlock& b, const LuBlock& c) const {
    const Op op = shape_.op == Op::conj_trans && !is_complex(dtype) ? Op::trans : shape_.op;
    tools_->multiply(LuLane::panel, dtype, op, shape_.n, shape_.nrhs, shape_.n, factor, a, b, 1, c);
  }

  std::shared_ptr<LuTools> tools_;
  LuRefineShape shape_;
  DeviceLuSystem system_;
  const GpuLuRefine& kernels_;
  std::int64_t magnitudes_at_ = 0, x_at_ = 0, bound_at_ = 0, residual_at_ = 0, progress_at_ = 0, blas_at_ = 0,
               system_at_ = 0, bytes_ = 0;
};

void validate_factors(const LuProblem& factors, const LuOptions& options) {
  validate(factors);
  validate_device(options);
  if (factors.m != factors.n)
    refuse_argument("factors", fmt::format("factors of {} x {} are not square", factors.m, factors.n));
}

}  // namespace

struct LuSolvePlan::Impl : DeviceLuSystem {
  using DeviceLuSystem::DeviceLuSystem;
};

LuSolvePlan plan_lu_solve(Context& context, const LuProblem& factors, Op op, std::int64_t nrhs,
                          std::int64_t ldb, const LuOptions& options) {
  validate_factors(factors, options);
  validate_op(op);
  refuse_negative("nrhs", nrhs);
  validate_extent(factors.n, nrhs, "ldb", ldb, factors.dtype);
  return Access::make<LuSolvePlan>(std::make_shared<LuSolvePlan::Impl>(
      LuMachines::of(Access::impl(context)).tools(options.device),
      LuSystemShape{factors.dtype, op, factors.n, nrhs, factors.lda, ldb}));
}

std::int64_t LuSolvePlan::workspace_bytes() const noexcept { return impl_->workspace_bytes(); }

template <class T>
void LuSolvePlan::solve(const T* lu, const std::int64_t* pivots, T* b, std::span<std::byte> workspace,
                        CUstream_st* stream) const {
  require_dtype<T>("lu", impl_->shape().dtype);
  if (impl_->shape().n == 0 || impl_->shape().nrhs == 0) return;
  require_addresses({{"lu", lu}, {"pivots", pivots}, {"b", b}}, workspace, workspace_bytes());
  impl_->solve({lu, reinterpret_cast<const long long*>(pivots), b, workspace.data()}, stream);
}

// The right-hand sides are the identity.
struct LuInversePlan::Impl : DeviceLuSystem {
  using DeviceLuSystem::DeviceLuSystem;
};

LuInversePlan plan_lu_inverse(Context& context, const LuProblem& factors, std::int64_t ldinv,
                              const LuOptions& options) {
  validate_factors(factors, options);
  validate_extent(factors.n, factors.n, "ldinv", ldinv, factors.dtype);
  return Access::make<LuInversePlan>(std::make_shared<LuInversePlan::Impl>(
      LuMachines::of(Access::impl(context)).tools(options.device),
      LuSystemShape{factors.dtype, Op::none, factors.n, factors.n, factors.lda, ldinv}));
}

std::int64_t LuInversePlan::workspace_bytes() const noexcept { return impl_->workspace_bytes(); }

template <class T>
void LuInversePlan::invert(const T* lu, const std::int64_t* pivots, T* inverse,
                           std::span<std::byte> workspace, CUstream_st* stream) const {
  const LuSystemShape& shape = impl_->shape();
  require_dtype<T>("lu", shape.dtype);
  if (shape.n == 0) return;
  require_addresses({{"lu", lu}, {"pivots", pivots}, {"inverse", inverse}}, workspace, workspace_bytes());
  const Gpu& gpu = impl_->gpu();
  const T one(1);
  gpu.clear(inverse, std::size_t(shape.n) * sizeof(T), std::size_t(shape.ldb) * sizeof(T), shape.n, stream);
  gpu.fill(inverse, &one, sizeof(T), shape.n, stream, std::size_t(shape.ldb + 1) * sizeof(T));
  impl_->solve({lu, reinterpret_cast<const long long*>(pivots), inverse, workspace.data()}, stream);
}

struct LuRefinePlan::Impl : DeviceLuRefinement {
  using DeviceLuRefinement::DeviceLuRefinement;
};

LuRefinePlan plan_lu_refine(Context& context, const LuProblem& factors, Op op, std::int64_t nrhs,
                            const LuRefineLayout& layout, int steps, const LuOptions& options) {
  validate_factors(factors, options);
  validate_op(op);
  refuse_negative("nrhs", nrhs);
  validate_extent(factors.n, factors.n, "lda", layout.lda, factors.dtype);
  validate_extent(factors.n, nrhs, "ldb", layout.ldb, factors.dtype);
  validate_extent(factors.n, nrhs, "ldx", layout.ldx, factors.dtype);
  refuse_negative("steps", steps);
  const LuRefineShape shape{factors.dtype, op,         factors.n,  nrhs, layout.lda,
                            factors.lda,   layout.ldb, layout.ldx, steps};
  return Access::make<LuRefinePlan>(std::make_shared<LuRefinePlan::Impl>(
      LuMachines::of(Access::impl(context)).tools(options.device), shape));
}

std::int64_t LuRefinePlan::workspace_bytes() const noexcept { return impl_->workspace_bytes(); }

template <class T>
void LuRefinePlan::refine(const T* a, const T* lu, const std::int64_t* pivots, const T* b, T* x,
                          double* backward_errors, std::span<std::byte> workspace,
                          CUstream_st* stream) const {
  const LuRefineShape& shape = impl_->shape();
  require_dtype<T>("a", shape.dtype);
  if (shape.n == 0 || shape.nrhs == 0) return;
  require_addresses(
      {{"a", a}, {"lu", lu}, {"pivots", pivots}, {"b", b}, {"x", x}, {"backward_errors", backward_errors}},
      workspace, workspace_bytes());
  impl_->refine({a, lu, reinterpret_cast<const long long*>(pivots), b, x, backward_errors, workspace.data()},
                stream);
}

TILEWRIGHT_FOR_TYPES(TILEWRIGHT_LU_SYSTEMS)

}  // namespace tilewright
