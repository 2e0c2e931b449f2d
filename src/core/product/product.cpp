// Expresses a product of strided views as one problem of the library. A row-major matrix is its transpose in
// column-major order: C^T = op(B)^T op(A)^T, so the sides change places and nothing is moved. Dimensions of
// the batch become levels, the innermost three of them in one call.
#include "core/product/product.hpp"

#include <string>

#include "core/input/checked.hpp"

namespace tilewright {
namespace {

std::string shape_text(const ArrayView& x) {
  std::string text = "(";
  for (int i = 0; i < x.ndim; ++i) text += (i > 0 ? ", " : "") + std::to_string(x.shape[i]);
  return text + (x.ndim == 1 ? ",)" : ")");
}

[[noreturn]] void refuse_shapes(const char* name, const ArrayView& x, const char* other_name,
                                const ArrayView& other, const char* why) {
  throw Error(ErrorCode::invalid_argument, name,
              std::string(name) + " has the shape " + shape_text(x) + " and " + other_name + " the shape " +
                  shape_text(other) + ": " + why);
}

// Returns the stride in x along dimension `index` of the batch of c; 0 if x is broadcast along it.
std::int64_t batch_stride(const char* name, const ArrayView& x, const char* c_name, const ArrayView& c,
                          int index) {
  const int own = index - (c.ndim - x.ndim);
  if (own < 0) return 0;
  if (x.shape[own] == c.shape[index]) return x.shape[own] == 1 ? 0 : x.strides[own];
  if (x.shape[own] != 1)
    refuse_shapes(name, x, c_name, c,
                  ("the leading dimensions do not broadcast to those of " + std::string(c_name)).c_str());
  return 0;
}

}  // namespace

// True if the elements of a column are adjacent, with columns that do not overlap at distance ld. Strides
// along a dimension of one element mean nothing.
bool Product::by_columns(const Shape& x, std::int64_t& ld) {
  if (x.rows > 1 && x.row_stride != 1) return false;
  const std::int64_t least = std::max<std::int64_t>(x.rows, 1);
  if (x.cols > 1 && x.col_stride < least) return false;
  ld = x.cols > 1 ? x.col_stride : least;
  return true;
}

// Describes x to the library: as column-major, or as row-major and so transposed. Fails for conjugation
// without transposition, for which there is no operation.
bool Product::as_operand(const Shape& x, bool conj, Matrix& to) {
  if (x.rows == 0 || x.cols == 0) {  // strides of an empty array mean nothing
    to.ld = std::max<std::int64_t>(x.rows, 1), to.op = Op::none;
    return true;
  }
  const bool columns = by_columns(x, to.ld);
  if (columns && !conj) {
    to.op = Op::none;
    return true;
  }
  if (by_columns(x.transposed(), to.ld)) {
    to.op = conj ? Op::conj_trans : Op::trans;
    return true;
  }
  return false;
}

Product::Product(const ArrayView& a, const ArrayView& b, const ArrayView& c, const Factors& factors)
    : dtype_(c.dtype), location_(c.location), factors_(factors) {
  if (!is_complex(dtype_)) factors_.conj_a = factors_.conj_b = false;
  find_sizes(a, b, c);
  left_.data = a.data, right_.data = b.data, result_.data = c.data;
  find_levels(a, b, c);
  if (!is_written()) {  // strides of an empty array mean nothing
    copies_ = copy_none;
    describe_empty(c);
    return;
  }
  if (!a.regular) copies_ |= copy_a;
  if (!b.regular) copies_ |= copy_b;
  if (!c.regular || (!factors_.apart && (may_overlap(a, c) || may_overlap(b, c)))) copies_ |= copy_c;
  if (copies_ != copy_none) return;
  const auto shape_of = [](const ArrayView& x, bool lies) {
    const std::int64_t rows = x.shape[x.ndim - 2], cols = x.shape[x.ndim - 1];
    if (!lies) return Shape{rows, cols, cols, 1};
    return Shape{rows, cols, x.strides[x.ndim - 2], x.strides[x.ndim - 1]};
  };
  // A sum of no products reads neither a nor b, whose strides NumPy sets to 0 in this case.
  const Shape sa = shape_of(a, !empty_), sb = shape_of(b, !empty_), sc = shape_of(c, true);
  std::int64_t ld = 0;
  const bool columns = by_columns(sc, ld), rows = by_columns(sc.transposed(), ld);
  if (!columns && !rows) {
    copies_ = copy_c;
    return;
  }
  // A single column is treated as one; otherwise row-major is preferred if both are possible.
  const bool by_rows = rows && !(columns && sc.cols == 1);
  if (may_repeat(sc)) {
    copies_ = copy_c;
    return;
  }
  copies_ = find_operands(sa, sb, sc, by_rows);
  if (copies_ != copy_none && columns && rows) copies_ = find_operands(sa, sb, sc, !by_rows);
  if (copies_ == copy_none) join_levels();
}

// Describes a product without work: its sizes, as packed row-major operands have them, for problem().
void Product::describe_empty(const ArrayView& c) {
  m_ = c.shape[c.ndim - 1], n_ = c.shape[c.ndim - 2];
  left_.ld = result_.ld = std::max<std::int64_t>(m_, 1), right_.ld = std::max<std::int64_t>(k_, 1);
  std::int64_t count = 1;
  for (int i = 0; i < c.ndim - 2; ++i) count = saturating_product(count, c.shape[i]);
  level_count_ = count == 1 ? 0 : 1;
  levels_[0] = {count, saturating_product(left_.ld, k_), saturating_product(right_.ld, n_),
                saturating_product(result_.ld, n_)};
}

void Product::find_sizes(const ArrayView& a, const ArrayView& b, const ArrayView& c) {
  if (a.shape[a.ndim - 1] != b.shape[b.ndim - 2])
    refuse_shapes("a", a, "b", b, "a must have as many columns as b has rows");
  if (c.shape[c.ndim - 2] != a.shape[a.ndim - 2])
    refuse_shapes("a", a, factors_.c_name, c, "the numbers of rows differ");
  if (c.shape[c.ndim - 1] != b.shape[b.ndim - 1])
    refuse_shapes("b", b, factors_.c_name, c, "the numbers of columns differ");
  const auto refuse_dimensions = [&](const char* name, const ArrayView& x) {
    refuse_shapes(name, x, factors_.c_name, c,
                  (std::string(factors_.c_name) + " has fewer dimensions").c_str());
  };
  if (a.ndim > c.ndim) refuse_dimensions("a", a);
  if (b.ndim > c.ndim) refuse_dimensions("b", b);
  k_ = a.shape[a.ndim - 1];
}

void Product::find_levels(const ArrayView& a, const ArrayView& b, const ArrayView& c) {
  no_elements_ = c.shape[c.ndim - 2] == 0 || c.shape[c.ndim - 1] == 0;
  empty_ = no_elements_;
  const auto size = size_bytes(dtype_);
  const char* const name = factors_.c_name;
  for (int i = 0; i < c.ndim - 2; ++i) {
    Level level{c.shape[i], batch_stride("a", a, name, c, i), batch_stride("b", b, name, c, i), c.strides[i]};
    if (level.count == 0) empty_ = true;
    if (level.count <= 1) continue;
    if (level.c < 0 && (level.a > 0 || level.b > 0)) {
      copies_ |= copy_c;
    } else if (level.c < 0) {  // start all operands from their other ends
      left_.data += (level.count - 1) * level.a * size;
      right_.data += (level.count - 1) * level.b * size;
      result_.data += (level.count - 1) * level.c * size;
      level.a = -level.a, level.b = -level.b, level.c = -level.c;
    }
    if (level.a < 0) copies_ |= copy_a;
    if (level.b < 0) copies_ |= copy_b;
    if (level.c == 0 && !factors_.sum) copies_ |= copy_c;
    levels_[level_count_++] = level;
  }
}

// True if different matrices of c, none of which overlaps itself, may overlap.
bool Product::may_repeat(const Shape& c) const {
  if (level_count_ == 0 || factors_.sum) return false;
  Step steps[ArrayView::most_dims];  // NOLINT: level_count_ + 2 of them are set
  for (int i = 0; i < level_count_; ++i) steps[i] = {levels_[i].count, levels_[i].c};
  steps[level_count_] = {c.rows, c.row_stride}, steps[level_count_ + 1] = {c.cols, c.col_stride};
  return !plainly_apart({steps, std::size_t(level_count_ + 2)}, 1);
}

// Merges levels that continue where the one within them ends.
void Product::join_levels() {
  int kept = 0;
  for (int i = 0; i < level_count_; ++i) {
    const Level& in = levels_[i];
    Level* out = kept > 0 ? &levels_[kept - 1] : nullptr;
    if (out != nullptr && out->a == in.a * in.count && out->b == in.b * in.count && out->c == in.c * in.count)
      *out = {out->count * in.count, in.a, in.b, in.c};
    else
      levels_[kept++] = in;
  }
  level_count_ = kept;
  if (swapped_)
    for (int i = 0; i < level_count_; ++i) std::swap(levels_[i].a, levels_[i].b);
}

unsigned Product::find_operands(const Shape& a, const Shape& b, const Shape& c, bool by_rows) {
  Matrix x, y;
  unsigned copies = copy_none;
  if (!as_operand(by_rows ? a.transposed() : a, factors_.conj_a, x)) copies |= copy_a;
  if (!as_operand(by_rows ? b.transposed() : b, factors_.conj_b, y)) copies |= copy_b;
  if (copies != copy_none) return copies;
  const Shape to = by_rows ? c.transposed() : c;
  by_columns(to, result_.ld);
  m_ = to.rows, n_ = to.cols;
  x.data = left_.data, y.data = right_.data;
  swapped_ = by_rows;
  left_ = by_rows ? y : x, right_ = by_rows ? x : y;
  return copy_none;
}

double Product::work() const noexcept {
  double work = empty_ ? 0 : double(m_) * double(n_) * double(std::max<std::int64_t>(k_, 1));
  for (int i = 0; i < level_count_; ++i) work *= double(levels_[i].count);
  return work;
}

// One level is a strided batch; more levels become a batch of pointers, as run_sum() passes them.
void Product::describe_sum(GemmProblem& p) const {
  p.sums = Sums::batch_reduce;
  p.layout = level_count_ <= 1 && !empty_ ? Layout::strided : Layout::pointer;
  p.batch_count = empty_ ? 0 : 1;
  for (int i = 0; i < level_count_; ++i) p.batch_count *= levels_[i].count;
  if (p.layout == Layout::pointer) return;
  p.stride_a = level_count_ == 1 ? levels_[0].a : p.lda * p.a_cols();
  p.stride_b = level_count_ == 1 ? levels_[0].b : p.ldb * p.b_cols();
  p.stride_c = p.ldc * p.n;
}

GemmProblem Product::problem() const {
  GemmProblem p;
  p.dtype = dtype_, p.location = location_;
  p.op_a = left_.op, p.op_b = right_.op;
  p.m = m_, p.n = n_, p.k = k_;
  p.lda = left_.ld, p.ldb = right_.ld, p.ldc = result_.ld;
  p.alpha = scalar_class(factors_.alpha), p.beta = scalar_class(factors_.beta);
  if (factors_.sum) {
    describe_sum(p);
    return p;
  }
  if (level_count_ == 0) return p;
  p.layout = Layout::strided;
  std::array<BatchLevel, most_batch_levels> innermost;
  for (int i = 0; i < std::min(level_count_, int(most_batch_levels)); ++i) {
    const Level& level = levels_[level_count_ - 1 - i];
    innermost[std::size_t(i)] = {level.count, level.a, level.b, level.c};
  }
  set_batch_levels(p, innermost);
  return p;
}

Product::Addresses Product::addresses() const {
  Addresses to;
  std::int64_t count = empty_ ? 0 : 1;
  for (int i = 0; i < level_count_; ++i) count *= levels_[i].count;
  for (auto* list : {&to.a, &to.b, &to.c}) list->reserve(std::size_t(count));
  std::int64_t index[ArrayView::most_dims] = {};
  const auto size = size_bytes(dtype_);
  for (std::int64_t p = 0; p < count; ++p) {
    std::int64_t at_a = 0, at_b = 0, at_c = 0;
    for (int i = 0; i < level_count_; ++i) {
      at_a += index[i] * levels_[i].a, at_b += index[i] * levels_[i].b, at_c += index[i] * levels_[i].c;
    }
    to.a.push_back(left_.data + at_a * size);
    to.b.push_back(right_.data + at_b * size);
    to.c.push_back(result_.data + at_c * size);
    for (int i = level_count_ - 1; i >= 0 && ++index[i] == levels_[i].count; --i) index[i] = 0;
  }
  return to;
}

}  // namespace tilewright
