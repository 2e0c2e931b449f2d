// Keys, cells and distances.
#include "wisdom/key.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "wisdom/families.hpp"

namespace tilewright {
namespace {

// Ranking penalties in the unit of shape_distance. A different tail changes the code more than a step in
// size.
constexpr double tail_penalty = 0.25;
// l1 for l2, beta one for general, strided for pointer, another block.
constexpr double relaxed_penalty = 0.4;
constexpr double preference_penalty = 0.001;  // decides only between records that are otherwise equal
constexpr double other_maker_penalty = 0.1;

// The numbers below are kept in files: an enum that is renumbered needs another schema version.
static_assert(int(Layout::single) == 0 && int(Layout::strided) == 1 && int(Layout::pointer) == 2 &&
              int(Layout::interleaved) == 3 && int(Layout::block_interleaved) == 4);
static_assert(int(Scalar::zero) == 0 && int(Scalar::one) == 1 && int(Scalar::general) == 2);
static_assert(int(Residency::automatic) == 0 && int(Residency::cold) == 1 && int(Residency::l2) == 2 &&
              int(Residency::l1) == 3);

double log_ratio(std::int64_t x, std::int64_t y) {
  if (x == y) return 0;
  if (x <= 0 || y <= 0) return std::numeric_limits<double>::infinity();
  return std::fabs(std::log(static_cast<double>(x) / static_cast<double>(y)));
}

// Rows beyond the last whole vector; interleaved kernels have none, their vectors lie along the problems.
std::int64_t tail_rows(const GemmProblem& problem, std::int64_t bytes) {
  if (is_interleaved(problem.layout)) return 0;
  return problem.m % (bytes / size_bytes(problem.dtype));
}

// Whether columns lie apart, which no leading dimension (0) says of none.
bool is_padded(const GemmProblem& p) { return p.lda > p.a_rows() || p.ldb > p.b_rows() || p.ldc > p.m; }
constexpr int padded_bit = 32;
constexpr std::int64_t some_padding = std::int64_t(1) << 30;  // of problems of which only that is known

double coordinate(std::int64_t size) {
  return std::log(static_cast<double>(std::max<std::int64_t>(1, size))) / cell_width;
}

// Bits of x at every third place; ln of 64-bit sizes over cell_width needs ten of them.
std::int64_t spread_bits(std::int64_t x) {
  x = (x | x << 16) & 0x030000ff;
  x = (x | x << 8) & 0x0300f00f;
  x = (x | x << 4) & 0x030c30c3;
  return (x | x << 2) & 0x09249249;
}

// Orders the heap of cells: the nearest on top and, of equally near ones, the wider first.
bool farther(const ShapeCell& x, const ShapeCell& y) {
  return x.distance != y.distance ? x.distance > y.distance : x.level < y.level;
}

std::int64_t z_order(std::int64_t x, std::int64_t y, std::int64_t z) {
  return spread_bits(x) | spread_bits(y) << 1 | spread_bits(z) << 2;
}

// Few problems want other blocks than many, which are one class: the power of ten below, up to 100,000.
std::int64_t count_class(std::int64_t count) {
  std::int64_t power = 1;
  while (power < 100000 && power <= count / 10) power *= 10;
  return power;
}

// Real numbers are their own conjugates: c is another spelling of t.
GemmProblem spelled_once(GemmProblem p) {
  if (is_complex(p.dtype)) return p;
  for (Op* op : {&p.op_a, &p.op_b})
    if (*op == Op::conj_trans) *op = Op::trans;
  return p;
}

}  // namespace

WisdomSubject subject_of(const std::string& text) {
  WisdomSubject subject;
  const std::size_t end = text.find(':');
  if (end == std::string::npos) return subject;
  constexpr std::string_view math = ":math=", many[] = {"_batched", "_batch_reduce", "_stack"};
  subject.operation = text.substr(0, end);
  for (const std::string_view suffix : many)
    if (subject.operation.ends_with(suffix)) {
      subject.operation.resize(subject.operation.size() - suffix.size());
      break;
    }
  std::string rest = text;
  if (const std::size_t at = text.find(math); at != std::string::npos) {
    const std::size_t from = at + math.size(), to = std::min(text.find(':', from), text.size());
    subject.math = text.substr(from, to - from);
    rest.erase(at, to - at);
  }
  if (subject.operation == "gemm") subject.problem = parse_problem(rest);
  return subject;
}

std::string exact_key(const WisdomQuery& query) {
  const GemmProblem& p = query.problem;
  std::string key =
      fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", query.operation, query.math, query.family,
                  query.architecture, to_string(p.dtype), op_pair(spelled_once(p)), p.m, p.n, p.k,
                  to_string(p.layout), to_string(p.beta), to_string(p.residency));
  if (p.layout == Layout::block_interleaved) key += fmt::format(" {}", p.block);
  if (p.sums != Sums::none) key += " " + to_string(p.sums);
  return key;
}

std::string kind_key(const WisdomQuery& query) {
  const GemmProblem& p = query.problem;
  return fmt::format("{} {} {} {} {} {} {} {} {}{}", query.operation, query.math, query.family,
                     query.architecture, to_string(p.dtype), op_pair(spelled_once(p)),
                     is_interleaved(p.layout) ? "interleaved" : "apart",
                     p.beta == Scalar::zero ? "writes" : "updates",
                     p.residency == Residency::l1 ? "l2" : to_string(p.residency),
                     p.sums == Sums::none ? "" : " " + to_string(p.sums));
}

std::string variant_key(const GemmProblem& problem) {
  GemmProblem one = without_levels(spelled_once(problem));
  one.batch_count = problem.location == Location::device ? count_class(problem.batch_count) : 1;
  if (one.layout == Layout::interleaved) one.block = 1;
  GemmProblem usual = one;
  usual.lda = usual.ldb = usual.ldc = usual.stride_a = usual.stride_b = usual.stride_c = 0;
  usual.alpha = Scalar::one;
  usual.location = Location::host;
  return one == packed(usual) ? "" : to_string(one);
}

std::int64_t packed_traits(const GemmProblem& p) {
  return std::int64_t(p.layout) | std::int64_t(p.alpha) << 8 | std::int64_t(p.beta) << 16 |
         std::int64_t(p.residency) << 24 | std::int64_t(is_padded(p)) << padded_bit;
}

void unpack_traits(std::int64_t traits, GemmProblem& p) {
  p.layout = Layout(traits & 0xff);
  p.alpha = Scalar(traits >> 8 & 0xff);
  p.beta = Scalar(traits >> 16 & 0xff);
  p.residency = Residency(traits >> 24 & 0xff);
  p.lda = p.ldb = p.ldc = (traits >> padded_bit & 1) != 0 ? some_padding : 0;
}

bool is_exact(const GemmProblem& x, const GemmProblem& y) {
  return x.m == y.m && x.n == y.n && x.k == y.k && x.layout == y.layout && x.beta == y.beta &&
         x.residency == y.residency && (x.layout != Layout::block_interleaved || x.block == y.block);
}

bool fills_alike(const GemmProblem& wanted, const GemmProblem& known, const std::string& architecture) {
  if (wanted.layout != Layout::block_interleaved || wanted.block == known.block) return true;
  const auto whole = [vector = vector_bytes(architecture)](const GemmProblem& p) {
    return p.block * size_bytes(p.dtype) % vector == 0;
  };
  return whole(wanted) && whole(known);
}

double shape_distance(const GemmProblem& x, const GemmProblem& y) {
  return log_ratio(x.m, y.m) + log_ratio(x.n, y.n) + log_ratio(x.k, y.k);
}

double trait_penalty(const GemmProblem& wanted, const GemmProblem& known, const std::string& architecture) {
  const std::int64_t bytes = vector_bytes(architecture);
  double sum = 0;
  if (tail_rows(wanted, bytes) != tail_rows(known, bytes)) sum += tail_penalty;
  if (wanted.residency != known.residency) sum += relaxed_penalty;
  if (wanted.beta != known.beta) sum += relaxed_penalty;
  if (wanted.layout != known.layout) sum += relaxed_penalty;
  if (wanted.layout == Layout::block_interleaved && wanted.block != known.block) sum += relaxed_penalty;
  if (wanted.alpha != known.alpha) sum += preference_penalty;
  if (wanted.location == Location::device) {
    // There gaps between columns are other code, and few problems want other blocks than many.
    if (is_padded(wanted) != is_padded(known)) sum += relaxed_penalty;
    sum += preference_penalty * log_ratio(std::max<std::int64_t>(1, wanted.batch_count),
                                          std::max<std::int64_t>(1, known.batch_count));
  }
  return sum;
}

bool is_same_device(const std::string& wanted, const std::string& known) {
  if (wanted == known) return true;
  if (!known.ends_with(')') || known.find(" (family ") == std::string::npos) return false;
  return wanted.starts_with(known.substr(0, known.size() - 1) + ",");
}

double device_penalty(const std::string& wanted, const std::string& known) {
  if (wanted == known) return 0;
  if (is_same_device(wanted, known)) return preference_penalty;
  return wanted.substr(0, wanted.find(' ')) == known.substr(0, known.find(' ')) ? 0 : other_maker_penalty;
}

std::int64_t cell_number(const GemmProblem& p) {
  return z_order(std::int64_t(coordinate(p.m)), std::int64_t(coordinate(p.n)), std::int64_t(coordinate(p.k)));
}

std::int64_t ShapeCell::first() const {
  return z_order(index[0] << level, index[1] << level, index[2] << level);
}

CellsByDistance::CellsByDistance(const GemmProblem& p, const ShapeExtent& extent)
    : at_{coordinate(p.m), coordinate(p.n), coordinate(p.k)},
      low_{coordinate(extent.low[0]), coordinate(extent.low[1]), coordinate(extent.low[2])},
      high_{coordinate(extent.high[0]), coordinate(extent.high[1]), coordinate(extent.high[2])} {
  // Two widths of the widest level hold everything within the radius along each axis.
  constexpr int widest = cell_levels - 1;
  const double reach = std::ldexp(0.5, widest);
  std::array<std::int64_t, 3> low{}, high{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    low[axis] = std::int64_t(std::max(0.0, at_[axis] - reach)) >> widest;
    high[axis] = std::int64_t(at_[axis] + reach) >> widest;
  }
  for (std::int64_t x = low[0]; x <= high[0]; ++x)
    for (std::int64_t y = low[1]; y <= high[1]; ++y)
      for (std::int64_t z = low[2]; z <= high[2]; ++z) add({x, y, z}, widest);
}

std::optional<ShapeCell> CellsByDistance::next(double limit) {
  if (heap_.empty() || heap_.front().distance > limit) return std::nullopt;
  std::pop_heap(heap_.begin(), heap_.end(), farther);
  const ShapeCell nearest = heap_.back();
  heap_.pop_back();
  return nearest;
}

void CellsByDistance::split(const ShapeCell& cell) {
  for (std::int64_t part = 0; part < 8; ++part)
    add({2 * cell.index[0] + (part & 1), 2 * cell.index[1] + (part >> 1 & 1),
         2 * cell.index[2] + (part >> 2)},
        cell.level - 1);
}

std::int64_t CellsByDistance::nearest_number(const ShapeCell& cell) const {
  std::array<std::int64_t, 3> nearest{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t first = cell.index[axis] << cell.level;
    const std::int64_t last = first + (std::int64_t(1) << cell.level) - 1;
    const double inside = std::clamp(at_[axis], low_[axis], high_[axis]);
    nearest[axis] = std::clamp(std::int64_t(inside), first, last);
  }
  return z_order(nearest[0], nearest[1], nearest[2]);
}

void CellsByDistance::add(const std::array<std::int64_t, 3>& index, int level) {
  ShapeCell cell{index, level, 0};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double low = std::max(double(index[axis] << level), low_[axis]);
    const double high = std::min(double((index[axis] + 1) << level), high_[axis]);
    if (low > high) return;
    cell.distance += std::max({0.0, low - at_[axis], at_[axis] - high}) * cell_width;
  }
  heap_.push_back(cell);
  std::push_heap(heap_.begin(), heap_.end(), farther);
}

}  // namespace tilewright
