// Decides how arrays are multiplied in place, and copies those that cannot be used in place. See the header
// for the idea.
#include "arrays/gemm_arrays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/dispatch.hpp"
#include "kernel/gemm_small_cpu/kernel.hpp"
#include "people/refusal.hpp"

namespace tilewright::cli {
namespace {

constexpr std::int64_t copy_tile = 32;             // elements a side: two tiles of c128 fit the L1 cache
constexpr std::int64_t contiguous_step = 1 << 20;  // bytes per thread and step of a plain copy

const char* order_name(Order order) {
  switch (order) {
    case Order::row_major:
      return "C order";
    case Order::column_major:
      return "Fortran order";
    case Order::interleaved:
      return "Fortran order, interleaved";
  }
  return "";
}

[[noreturn]] void refuse(const ArrayInfo& array, const std::string& argument, const std::string& reason) {
  wrong_use(argument, "{} {}", array.what, reason);
}

std::string dimensions(const ArrayShape& shape) {
  return shape.is_batch ? shape_text({shape.batch, shape.rows, shape.cols})
                        : shape_text({shape.rows, shape.cols});
}

void check_dtype(const ArrayInfo& array, const std::string& argument, const ArrayInfo& a) {
  if (array.dtype != a.dtype)
    refuse(array, argument,
           fmt::format("holds {}, but {} holds {}", to_string(array.dtype), a.what, to_string(a.dtype)));
}

std::int64_t common_batch(const ArrayInfo& a, const ArrayInfo& b) {
  if (a.shape.batch == b.shape.batch || b.shape.batch == 1) return a.shape.batch;
  if (a.shape.batch == 1) return b.shape.batch;
  refuse(b, "B",
         fmt::format("has shape {}, a batch of {}, but {} has a batch of {}", dimensions(b.shape),
                     b.shape.batch, a.what, a.shape.batch));
}

// True if the array must be conjugated by a copy: no kernel op conjugates an array whose order differs from
// that of C without transposing it.
bool needs_conjugate_copy(const ArrayInfo& array, Op op, Order c_order) {
  return op == Op::conj_trans && is_complex(array.dtype) && array.shape.order != c_order;
}

Order choose_c_order(const ArrayInfo& a, Op op_a, const ArrayInfo& b, Op op_b, std::int64_t largest) {
  const bool any_batch = a.shape.is_batch || b.shape.is_batch;
  if (!any_batch) {
    const Order first = a.shape.order, second = b.shape.order;
    const bool other_is_free =
        !needs_conjugate_copy(a, op_a, second) && !needs_conjugate_copy(b, op_b, second);
    return needs_conjugate_copy(b, op_b, first) && other_is_free ? second : first;
  }
  const bool all_interleaved = a.shape.order == Order::interleaved && b.shape.order == Order::interleaved &&
                               a.shape.batch == b.shape.batch;
  // Above the small sizes only the reference implementation reads interleaved data.
  return all_interleaved && largest <= gemm_small_cpu_limit ? Order::interleaved : Order::row_major;
}

// Returns the op with which the kernel reads an array, and decides whether it must be copied into C's order
// first.
Op place(const ArrayInfo& array, Op op, Order c_order, const char* name, ArrayShape& placed, bool& copy,
         std::vector<std::string>& notes) {
  placed = array.shape;
  const bool wrong_batch = array.shape.order != c_order &&
                           (array.shape.order == Order::interleaved || c_order == Order::interleaved);
  copy = wrong_batch || needs_conjugate_copy(array, op, c_order);
  if (copy) {
    placed.order = c_order;
    notes.push_back(
        fmt::format("{} ({}) is copied to {}: {}", name, order_name(array.shape.order), order_name(c_order),
                    wrong_batch ? "a batch has one layout" : "its conjugate cannot be read in place"));
    return op;
  }
  if (placed.order == c_order) return op;
  return op == Op::none ? Op::trans
                        : Op::none;  // the other order is the transpose; for real data conj_trans is trans
}

std::int64_t leading_dimension(const ArrayShape& shape) {
  return std::max<std::int64_t>(1, shape.order == Order::row_major ? shape.cols : shape.rows);
}

void fill_problem(Arrangement& plan, std::int64_t m, std::int64_t n, std::int64_t k, Op op_a, Op op_b) {
  GemmProblem& p = plan.problem;
  plan.swapped = plan.c.order == Order::row_major;
  const ArrayShape& left = plan.swapped ? plan.b : plan.a;
  const ArrayShape& right = plan.swapped ? plan.a : plan.b;
  p.m = plan.swapped ? n : m;
  p.n = plan.swapped ? m : n;
  p.k = k;
  p.op_a = plan.swapped ? op_b : op_a;
  p.op_b = plan.swapped ? op_a : op_b;
  p.lda = leading_dimension(left);
  p.ldb = leading_dimension(right);
  p.ldc = leading_dimension(plan.c);
  p.batch_count = plan.c.batch;
  if (!plan.c.is_batch) return;
  p.layout = plan.c.order == Order::interleaved ? Layout::interleaved : Layout::strided;
  p.block = plan.c.order == Order::interleaved ? p.batch_count : 0;
  if (p.layout != Layout::strided) return;
  p.stride_a = left.batch == 1 ? 0 : left.rows * left.cols;
  p.stride_b = right.batch == 1 ? 0 : right.rows * right.cols;
  p.stride_c = plan.c.rows * plan.c.cols;
}

// Copies one tile; the batch is innermost because it is contiguous wherever layouts differ in it.
template <class T>
void copy_tile_of(const T* from, const std::array<std::int64_t, 3>& fs, T* to,
                  const std::array<std::int64_t, 3>& ts, const std::array<std::int64_t, 3>& begin,
                  const std::array<std::int64_t, 3>& end) {
  for (std::int64_t i = begin[1]; i < end[1]; ++i)
    for (std::int64_t j = begin[2]; j < end[2]; ++j) {
      const T* source = from + i * fs[1] + j * fs[2];
      T* target = to + i * ts[1] + j * ts[2];
      for (std::int64_t b = begin[0]; b < end[0]; ++b) target[b * ts[0]] = source[b * fs[0]];
    }
}

template <class T>
void copy_strided(const T* from, std::array<std::int64_t, 3> from_strides, T* to, const ArrayShape& shape,
                  int threads) {
  const auto to_strides = shape.strides();
  const std::array<std::int64_t, 3> extent = {shape.batch, shape.rows, shape.cols};
  std::array<std::int64_t, 3> tiles;
  for (int d = 0; d < 3; ++d) tiles[d] = (extent[d] + copy_tile - 1) / copy_tile;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t tile = 0; tile < tiles[0] * tiles[1] * tiles[2]; ++tile) {
    const std::array<std::int64_t, 3> at = {tile / tiles[2] / tiles[1], tile / tiles[2] % tiles[1],
                                            tile % tiles[2]};
    std::array<std::int64_t, 3> begin, end;
    for (int d = 0; d < 3; ++d) {
      begin[d] = at[d] * copy_tile;
      end[d] = std::min(begin[d] + copy_tile, extent[d]);
    }
    copy_tile_of(from, from_strides, to, to_strides, begin, end);
  }
}

// Cuts long multiplications.

constexpr double whole_s = 2;  // shorter work is not cut and shows no progress
constexpr double piece_s = 0.5;
// Narrower strips of C would slow a CBLAS down too much.
constexpr std::int64_t fewest_columns = 256;

Piece piece_of(const GemmProblem& whole, bool by_problems, std::int64_t first, std::int64_t count) {
  Piece piece;
  piece.problem = whole;
  if (by_problems) {
    piece.problem.batch_count = count;
    piece.a_offset = first * whole.stride_a;
    piece.b_offset = first * whole.stride_b;
    piece.c_offset = first * whole.stride_c;
  } else {
    piece.problem.n = count;
    piece.b_offset = whole.op_b == Op::none ? first * whole.ldb : first;
    piece.c_offset = first * whole.ldc;
  }
  return piece;
}

}  // namespace

std::array<std::int64_t, 3> ArrayShape::strides() const {
  switch (order) {
    case Order::row_major:
      return {rows * cols, cols, 1};
    case Order::column_major:
      return {rows * cols, 1, rows};
    case Order::interleaved:
      return {1, batch, batch * rows};
  }
  return {};
}

std::vector<std::int64_t> Arrangement::c_shape() const {
  if (!c.is_batch) return {c.rows, c.cols};
  return {c.batch, c.rows, c.cols};
}

ArrayShape array_shape(const NpyHeader& header, const std::string& argument, const std::string& what) {
  const auto& s = header.shape;
  if (s.size() != 2 && s.size() != 3)
    wrong_use(argument,
              "{} has shape {}: it needs 2 dimensions (a matrix) or 3 (a batch of matrices), not {}", what,
              shape_text(s), s.size());
  ArrayShape shape;
  shape.is_batch = s.size() == 3;
  shape.batch = shape.is_batch ? s[0] : 1;
  shape.rows = s[s.size() - 2];
  shape.cols = s[s.size() - 1];
  if (header.fortran_order) shape.order = shape.is_batch ? Order::interleaved : Order::column_major;
  return shape;
}

Arrangement arrange(const ArrayInfo& a, const ArrayInfo& b, const std::optional<ArrayInfo>& c0, Op op_a,
                    Op op_b) {
  if (!is_complex(a.dtype)) {  // for real data conj_trans is trans, the form that wisdom knows
    if (op_a == Op::conj_trans) op_a = Op::trans;
    if (op_b == Op::conj_trans) op_b = Op::trans;
  }
  check_dtype(b, "B", a);
  if (c0) check_dtype(*c0, "c", a);
  const std::int64_t m = op_a == Op::none ? a.shape.rows : a.shape.cols;
  const std::int64_t k = op_a == Op::none ? a.shape.cols : a.shape.rows;
  const std::int64_t k_of_b = op_b == Op::none ? b.shape.rows : b.shape.cols;
  const std::int64_t n = op_b == Op::none ? b.shape.cols : b.shape.rows;
  if (k != k_of_b)
    refuse(b, "B",
           fmt::format("has shape {}: op(B) has {} rows, but op(A) has {} columns ({} has shape {})",
                       dimensions(b.shape), k_of_b, k, a.what, dimensions(a.shape)));
  Arrangement plan;
  plan.problem.dtype = a.dtype;
  plan.c = {a.shape.is_batch || b.shape.is_batch, common_batch(a, b), m, n, Order::row_major};
  plan.c.order = choose_c_order(a, op_a, b, op_b, std::max({m, n, k}));
  if (c0 &&
      (c0->shape.rows != m || c0->shape.cols != n ||
       (c0->shape.is_batch && c0->shape.batch != plan.c.batch) || (c0->shape.is_batch && !plan.c.is_batch)))
    refuse(
        *c0, "c",
        fmt::format("has shape {}, but the product has shape {}", dimensions(c0->shape), dimensions(plan.c)));
  const Op kernel_op_a = place(a, op_a, plan.c.order, "A", plan.a, plan.copy_a, plan.notes);
  const Op kernel_op_b = place(b, op_b, plan.c.order, "B", plan.b, plan.copy_b, plan.notes);
  fill_problem(plan, m, n, k, kernel_op_a, kernel_op_b);
  if (plan.swapped)
    plan.notes.push_back("C order: computed as the column-major product C^T = op(B)^T op(A)^T, in place");
  if (c0 && c0->shape.order != plan.c.order)
    plan.notes.push_back(fmt::format("C0 ({}) is read into the output's {}", order_name(c0->shape.order),
                                     order_name(plan.c.order)));
  return plan;
}

void copy_array(DType dtype, const void* from, const ArrayShape& from_shape, void* to,
                const ArrayShape& to_shape, int threads) {
  const std::int64_t bytes = to_shape.count() * size_bytes(dtype);
  // A second thread must have enough work to be worth waking.
  threads = static_cast<int>(std::clamp<std::int64_t>(bytes / contiguous_step, 1, threads));
  if (from_shape.order == to_shape.order && from_shape.batch == to_shape.batch) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::int64_t at = 0; at < bytes; at += contiguous_step)
      std::memcpy(static_cast<char*>(to) + at, static_cast<const char*>(from) + at,
                  static_cast<std::size_t>(std::min(contiguous_step, bytes - at)));
    return;
  }
  auto strides = from_shape.strides();
  if (from_shape.batch == 1) strides[0] = 0;
  dispatch(dtype, [&]<class T>() {
    copy_strided(static_cast<const T*>(from), strides, static_cast<T*>(to), to_shape, threads);
  });
}

std::vector<Piece> cut_into_pieces(const GemmProblem& problem, double seconds) {
  const bool by_problems = problem.layout == Layout::strided && problem.batch_count > 1;
  if (seconds < whole_s || (!by_problems && problem.layout != Layout::single)) return {{problem}};
  const std::int64_t total = by_problems ? problem.batch_count : problem.n;
  const auto wanted = static_cast<std::int64_t>(std::ceil(double(total) * piece_s / seconds));
  const std::int64_t step = std::max<std::int64_t>(by_problems ? 1 : fewest_columns, wanted);
  std::vector<Piece> pieces;
  for (std::int64_t first = 0; first < total; first += step)
    pieces.push_back(piece_of(problem, by_problems, first, std::min(step, total - first)));
  return pieces;
}

}  // namespace tilewright::cli
