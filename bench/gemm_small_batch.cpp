// Places of matrices in each layout.
#include "gemm_small_batch.hpp"

#include <algorithm>
#include <numeric>

#include "device/gpu/gpu.hpp"

namespace tilewright::bench {
namespace {

std::int64_t rounded(std::int64_t value, std::int64_t piece) { return (value + piece - 1) / piece * piece; }

// Rows, columns, leading dimension and distance of one operand of a problem.
struct Stored {
  std::int64_t rows, columns, ld, stride;
};
Stored stored_operand(const GemmProblem& p, int operand) {
  if (operand == 0) return {p.a_rows(), p.a_cols(), p.lda, p.stride_a};
  if (operand == 1) return {p.b_rows(), p.b_cols(), p.ldb, p.stride_b};
  return {p.m, p.n, p.ldc, p.stride_c};
}

}  // namespace

SmallBatch::SmallBatch(const SmallCase& one, std::int64_t count, std::mt19937& random)
    : case_(one), count_(count) {
  if (sizes_vary()) draw_sizes(random);
  if (one.faults)
    for (std::int64_t q = 0; q < count; ++q) {
      const auto most = sizes_vary() ? 6u : 3u;
      faults_.push_back(random() % 4 == 0 ? static_cast<SmallFault>(1 + random() % most) : SmallFault::none);
    }
  if (by_pointer()) {
    scatter();
    return;
  }
  for (int operand = 0; operand < 3; ++operand) {
    const Stored s = stored_operand(case_.problem, operand);
    elements_[operand] = is_interleaved(case_.problem.layout)
                             ? rounded(count, case_.problem.block) * s.ld * s.columns
                             : (count - 1) * s.stride + (s.columns - 1) * s.ld + s.rows;
  }
}

bool SmallBatch::by_pointer() const {
  const Layout layout = case_.problem.layout;
  return layout == Layout::pointer || layout == Layout::grouped || layout == Layout::variable;
}

std::int64_t SmallBatch::stored() const {
  return is_interleaved(case_.problem.layout) ? rounded(count_, case_.problem.block) : count_;
}

void SmallBatch::draw_sizes(std::mt19937& random) {
  const GemmProblem& p = case_.problem;
  const auto draw = [&](std::int64_t most) {
    const std::int64_t least = std::min(case_.smallest, most);
    return least + static_cast<std::int64_t>(random() % static_cast<unsigned>(most - least + 1));
  };
  for (std::int64_t q = 0; q < count_; ++q) {
    GemmProblem own = p;
    own.m = draw(p.m);
    own.n = case_.square ? own.m : draw(p.n);
    own.k = case_.square ? own.m : draw(p.k);
    const auto gap = [&] { return case_.gaps ? static_cast<std::int64_t>(random() % 3) : 0; };
    const std::int64_t values[] = {own.m,        own.n, own.k, own.a_rows() + gap(), own.b_rows() + gap(),
                                   own.m + gap()};
    for (int i = 0; i < 6; ++i) sizes_[i].push_back(std::max<std::int64_t>(values[i], i < 3 ? 0 : 1));
  }
}

// Matrices of a pointer batch lie in an order that has nothing to do with their numbers.
void SmallBatch::scatter() {
  const auto element = static_cast<std::int64_t>(size_bytes(case_.problem.dtype));
  const std::int64_t piece = case_.any_alignment ? 1 : std::max<std::int64_t>(1, gpu_sector_bytes / element);
  // A step that shares no factor with the count visits every number once.
  std::int64_t step = count_ * 5 / 8 + 1;
  while (std::gcd(step, count_) != 1) ++step;
  for (int operand = 0; operand < 3; ++operand) {
    places_[operand].resize(static_cast<std::size_t>(count_));
    std::int64_t at = case_.any_alignment ? 1 : 0;
    for (std::int64_t i = 0, q = operand; i < count_; ++i) {
      q = (q + step) % count_;
      const Stored s = stored_operand(problem(q), operand);
      places_[operand][static_cast<std::size_t>(q)] = at;
      at += rounded(std::max<std::int64_t>(s.columns, 1) * s.ld, piece) + (case_.any_alignment ? 1 : 0);
    }
    elements_[operand] = at;
  }
}

GemmProblem SmallBatch::problem(std::int64_t q) const {
  GemmProblem p = case_.problem;
  if (!sizes_vary()) return p;
  std::int64_t* const members[] = {&p.m, &p.n, &p.k, &p.lda, &p.ldb, &p.ldc};
  for (int i = 0; i < 6; ++i) *members[i] = sizes_[i][static_cast<std::size_t>(q)];
  return p;
}

SmallMatrix SmallBatch::matrix(int operand, std::int64_t q) const {
  const GemmProblem p = problem(q);
  const Stored s = stored_operand(p, operand);
  SmallMatrix m{0, s.rows, s.columns, s.ld, 1};
  if (by_pointer()) {
    m.at = places_[operand][static_cast<std::size_t>(q)];
  } else if (is_interleaved(p.layout)) {
    m.step = p.block;
    m.at = q / p.block * p.block * s.ld * s.columns + q % p.block;
  } else {
    m.at = q * s.stride;
  }
  return m;
}

int SmallBatch::code(std::int64_t q) const {
  switch (fault(q)) {
    case SmallFault::none:
      return 0;
    case SmallFault::null_a:
      return -7;
    case SmallFault::null_b:
      return -9;
    case SmallFault::null_c:
      return -12;
    case SmallFault::bad_m:
      return -3;
    case SmallFault::large_n:
      return -4;
    case SmallFault::bad_lda:
      return -8;
  }
  return 0;
}

GpuTraffic SmallBatch::traffic() const {
  const GemmProblem& p = case_.problem;
  if (!sizes_vary()) {
    GemmProblem all = p;
    all.batch_count = count_;
    return gpu_traffic(all);
  }
  double total[3] = {};
  for (std::int64_t q = 0; q < count_; ++q)
    for (int operand = 0; operand < 3; ++operand) {
      const Stored s = stored_operand(problem(q), operand);
      total[operand] +=
          double(rounded(s.ld * s.columns * std::int64_t(size_bytes(p.dtype)), gpu_sector_bytes));
    }
  GpuTraffic traffic;
  traffic.mix = {total[0], total[1], total[2], p.beta != Scalar::zero};
  constexpr double pointers_and_sizes = 3 * 8 + 6 * 8;
  traffic.bytes = traffic.mix.moved() + pointers_and_sizes * double(count_);
  return traffic;
}

double SmallBatch::flop_count() const {
  GemmProblem all = case_.problem;
  all.batch_count = count_;
  if (!sizes_vary()) return flops(all);
  double sum = 0;
  for (std::int64_t q = 0; q < count_; ++q) {
    GemmProblem own = problem(q);
    own.batch_count = 1;
    sum += flops(own);
  }
  return sum;
}

}  // namespace tilewright::bench
