// Computes the places of matrices in each layout.
#include "measure/small_batch.hpp"

#include <algorithm>
#include <numeric>

namespace tilewright {
namespace {

constexpr std::int64_t sector_bytes = 32;  // of a GPU's memory

std::int64_t rounded(std::int64_t value, std::int64_t piece) { return (value + piece - 1) / piece * piece; }

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
  // The extent reaches to the last element, or to the end of the last block.
  for (int operand = 0; operand < 3; ++operand) {
    const StoredOperand x = stored_operand(case_.problem, operand);
    const std::int64_t last = (count - 1) * x.step + (x.columns - 1) * x.column_step + x.rows;
    elements_[operand] =
        is_interleaved(case_.problem.layout) ? stored() / x.block * x.step : std::max<std::int64_t>(last, 0);
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
  constexpr std::int64_t largest_every = 5;  // one problem in this many has the largest sizes
  for (std::int64_t q = 0; q < count_; ++q) {
    GemmProblem own = p;
    if (q % largest_every != 1) {
      own.m = draw(p.m);
      own.n = case_.square ? own.m : draw(p.n);
      own.k = case_.square ? own.m : draw(p.k);
    }
    const auto gap = [&] { return case_.gaps ? static_cast<std::int64_t>(random() % 3) : 0; };
    const std::int64_t values[] = {own.m,        own.n, own.k, own.a_rows() + gap(), own.b_rows() + gap(),
                                   own.m + gap()};
    for (int i = 0; i < 6; ++i) sizes_[i].push_back(std::max<std::int64_t>(values[i], i < 3 ? 0 : 1));
  }
}

// Places the matrices of a pointer batch in an order unrelated to their numbers.
void SmallBatch::scatter() {
  const std::int64_t piece =
      case_.any_alignment ? 1 : std::max<std::int64_t>(1, sector_bytes / size_bytes(case_.problem.dtype));
  // A step that shares no factor with the count visits every number once.
  std::int64_t step = count_ * 5 / 8 + 1;
  while (std::gcd(step, count_) != 1) ++step;
  for (int operand = 0; operand < 3; ++operand) {
    places_[operand].resize(static_cast<std::size_t>(count_));
    std::int64_t at = case_.any_alignment ? 1 : 0;
    for (std::int64_t i = 0, q = operand; i < count_; ++i) {
      q = (q + step) % count_;
      const StoredOperand x = stored_operand(problem(q), operand);
      places_[operand][static_cast<std::size_t>(q)] = at;
      at += rounded(std::max<std::int64_t>(x.columns, 1) * x.column_step, piece) +
            (case_.any_alignment ? 1 : 0);
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

StoredOperand SmallBatch::matrix(int operand, std::int64_t q) const {
  if (operand == 2) q = first_of_sum(q);
  StoredOperand x = stored_operand(problem(q), operand);
  x.first = by_pointer() ? places_[operand][std::size_t(q)] : x.at(q, 0, 0);
  x.step = 0;
  return x;
}

}  // namespace tilewright
