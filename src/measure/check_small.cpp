// Draws, places, fills and compares a small batch.
#include "measure/check_small.hpp"

#include <fmt/format.h>

#include <cstring>
#include <numeric>

#include "core/dispatch.hpp"
#include "measure/buffers.hpp"
#include "measure/typed_values.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t sector_bytes = 32;  // of a GPU's memory

std::int64_t rounded(std::int64_t value, std::int64_t piece) { return (value + piece - 1) / piece * piece; }

}  // namespace

CheckedBatch::CheckedBatch(const SmallCase& one, std::int64_t count, std::mt19937& random)
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

bool CheckedBatch::by_pointer() const {
  const Layout layout = case_.problem.layout;
  return layout == Layout::pointer || layout == Layout::grouped || layout == Layout::variable;
}

std::int64_t CheckedBatch::stored() const {
  return is_interleaved(case_.problem.layout) ? rounded(count_, case_.problem.block) : count_;
}

void CheckedBatch::draw_sizes(std::mt19937& random) {
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
void CheckedBatch::scatter() {
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

GemmProblem CheckedBatch::problem(std::int64_t q) const {
  GemmProblem p = case_.problem;
  if (!sizes_vary()) return p;
  std::int64_t* const members[] = {&p.m, &p.n, &p.k, &p.lda, &p.ldb, &p.ldc};
  for (int i = 0; i < 6; ++i) *members[i] = sizes_[i][static_cast<std::size_t>(q)];
  return p;
}

StoredOperand CheckedBatch::matrix(int operand, std::int64_t q) const {
  if (operand == 2) q = first_of_sum(q);
  StoredOperand x = stored_operand(problem(q), operand);
  x.first = by_pointer() ? places_[operand][std::size_t(q)] : x.at(q, 0, 0);
  x.step = 0;
  return x;
}

struct SmallCheck::State {
  State(const SmallCase& one, std::int64_t count, std::mt19937& random) : batch(one, count, random) {}
  virtual ~State() = default;
  virtual CheckResult run(const CheckMemory& memory,
                          const std::function<void(const Operands&)>& run) const = 0;
  const CheckedBatch batch;
};

namespace {

constexpr std::size_t guard_bytes = 4096;  // on both sides of each operand

// Info codes of the SmallFaults, before a problem's sizes and scalars are considered.
constexpr int code_of[] = {0, -7, -9, -12, -3, -8, -4};

template <class T>
class TypedSmallCheck : public SmallCheck::State {
 public:
  TypedSmallCheck(const SmallCase& one, std::int64_t count, std::mt19937& random)
      : State(one, count, random), base_(guard_bytes / sizeof(T) + std::size_t(one.shift)) {
    draw_scalars(random);
    for (int operand = 0; operand < 3; ++operand) fill(operand, random);
    for (std::int64_t q = 0; q < count; ++q) {
      begins_.push_back(exact_.size());
      const GemmProblem p = batch.problem(q);
      if (code(q) == 0 && begins_sum(q)) exact_.resize(exact_.size() + std::size_t(p.m * p.n));
    }
#pragma omp parallel for schedule(dynamic) if (count > 1 && is_much())
    for (std::int64_t q = 0; q < count; ++q)
      if (code(q) == 0 && begins_sum(q)) expect(q);
  }

  CheckResult run(const CheckMemory& memory, const std::function<void(const Operands&)>& run) const override {
    std::vector<std::shared_ptr<std::byte>> placed;
    const auto place = [&]<class V>(const std::vector<V>& values) {
      placed.push_back(memory.place(values.data(), values.size() * sizeof(V)));
      return placed.back().get();
    };
    std::byte* const c = place(values_[2]);
    std::byte* bases[] = {place(values_[0]), place(values_[1]), c};
    for (int operand = 0; operand < 3; ++operand) {
      bases[operand] += base_ * sizeof(T);
      if (batch.by_pointer()) bases[operand] = place(addresses(operand, bases[operand]));
    }
    Operands o;
    o.a = bases[0], o.b = bases[1], o.c = bases[2];
    o.alpha = alphas_.data(), o.beta = betas_.data();
    if (batch.one().scalars_vary)
      o.alpha = place(alphas_), o.beta = place(betas_), o.alpha_stride = o.beta_stride = 1;
    if (batch.sizes_vary()) {
      const std::int64_t** const members[] = {&o.sizes.m,   &o.sizes.n,   &o.sizes.k,
                                              &o.sizes.lda, &o.sizes.ldb, &o.sizes.ldc};
      for (int i = 0; i < 6; ++i) *members[i] = reinterpret_cast<const std::int64_t*>(place(sizes(i)));
    }
    std::vector<int> codes(batch.by_pointer() ? std::size_t(batch.count()) : 0);
    if (!codes.empty()) o.info = reinterpret_cast<int*>(place(codes));
    run(o);
    std::vector<T> out(values_[2].size());
    memory.read(out.data(), c, out.size() * sizeof(T));
    if (!codes.empty())
      memory.read(codes.data(), reinterpret_cast<std::byte*>(o.info), codes.size() * sizeof(int));
    return compare(out, codes);
  }

 private:
  // True if the work is worth more than one thread.
  bool is_much() const {
    const GemmProblem& p = batch.one().problem;
    return double(p.m) * double(p.n) * double(p.k) * double(batch.count()) > 1e6;
  }

  void draw_scalars(std::mt19937& random) {
    const SmallCase& one = batch.one();
    const auto scalar = [&](Scalar kind) {
      return kind == Scalar::zero ? T(0) : kind == Scalar::one ? T(1) : random_value<T>(random);
    };
    for (std::int64_t q = 0; q < batch.count(); ++q) {
      const bool own = one.scalars_vary || q == 0;
      const auto kind = [&](Scalar all) {
        return one.scalars_vary ? static_cast<Scalar>(random() % 3) : all;
      };
      alphas_.push_back(own ? scalar(kind(one.problem.alpha)) : alphas_[0]);
      betas_.push_back(own ? scalar(kind(one.problem.beta)) : betas_[0]);
    }
  }

  // Sets all to NaN but elements that may be read, among them unused matrices of an interleaved batch.
  void fill(int operand, std::mt19937& random) {
    const GemmProblem& p = batch.one().problem;
    values_[operand].assign(2 * guard_count + std::size_t(batch.one().shift + batch.elements(operand)),
                            nan_value<T>());
    const bool shared = p.layout == Layout::strided && (operand == 0 ? p.stride_a : p.stride_b) == 0;
    for (std::int64_t q = 0; q < batch.stored(); ++q) {
      if (q < batch.count() && !shared && (operand < 2 ? alphas_ : betas_)[std::size_t(q)] == T(0)) continue;
      const StoredOperand x = batch.matrix(operand, q);
      for (std::int64_t j = 0; j < x.columns; ++j)
        for (std::int64_t i = 0; i < x.rows; ++i)
          values_[operand][base_ + std::size_t(x.at(0, i, j))] = random_value<T>(random);
    }
  }

  // Returns the expected info code of problem q: pointers are not read if nothing is multiplied or written.
  int code(std::int64_t q) const {
    const int code = code_of[int(batch.fault(q))];
    const GemmProblem p = batch.problem(q);
    const bool empty = p.m == 0 || p.n == 0, multiplies = alphas_[std::size_t(q)] != T(0) && p.k > 0;
    if ((code == -7 || code == -9) && (empty || !multiplies)) return 0;
    return code == -12 && empty ? 0 : code;
  }

  // Returns the addresses of an operand's matrices, first element at `base`, null for faulty problems.
  std::vector<const std::byte*> addresses(int operand, const std::byte* base) const {
    constexpr SmallFault null[] = {SmallFault::null_a, SmallFault::null_b, SmallFault::null_c};
    std::vector<const std::byte*> result;
    for (std::int64_t q = 0; q < batch.count(); ++q)
      result.push_back(batch.fault(q) == null[operand]
                           ? nullptr
                           : base + batch.matrix(operand, q).first * std::int64_t(sizeof(T)));
    return result;
  }
  // Returns one of the arrays m, n, k, lda, ldb, ldc, with the faulty sizes in it.
  std::vector<std::int64_t> sizes(int which) const {
    std::vector<std::int64_t> result = batch.sizes(which);
    for (std::int64_t q = 0; q < batch.count(); ++q) {
      const SmallFault fault = batch.fault(q);
      if (which == 0 && fault == SmallFault::bad_m) result[std::size_t(q)] = -1;
      if (which == 1 && fault == SmallFault::large_n) result[std::size_t(q)] = 1 << 20;
      if (which == 3 && fault == SmallFault::bad_lda) result[std::size_t(q)] = 0;
    }
    return result;
  }

  bool begins_sum(std::int64_t q) const { return batch.first_of_sum(q) == q; }

  // Reads rows of op(X), or columns if `across` is false; products summed with q's follow as if k continued.
  Strips<T> strips(int operand, std::int64_t q, Op op, std::int64_t count, std::int64_t k,
                   bool across) const {
    if (op != Op::none) across = !across;
    const std::int64_t products = batch.products_of_sum(q);
    Strips<T> all(k * products, count);
    for (std::int64_t r = 0; r < products; ++r) {
      const StoredOperand x = batch.matrix(operand, q + r);
      for (std::int64_t s = 0; s < count; ++s)
        for (std::int64_t l = 0; l < k; ++l) {
          const auto at = base_ + std::size_t(across ? x.at(0, s, l) : x.at(0, l, s));
          all.set(s, r * k + l, conjugated(values_[operand][at], op));
        }
    }
    return all;
  }

  void expect(std::int64_t q) {
    const GemmProblem p = batch.problem(q);
    const Strips<T> rows = strips(0, q, p.op_a, p.m, p.k, true),
                    columns = strips(1, q, p.op_b, p.n, p.k, false);
    const StoredOperand c = batch.matrix(2, q);
    Exact<T>* const exact = exact_.data() + begins_[std::size_t(q)];
#pragma omp parallel for schedule(dynamic) if (batch.count() == 1 && is_much())
    for (std::int64_t j = 0; j < p.n; ++j)
      for (std::int64_t i = 0; i < p.m; ++i)
        exact[j * p.m + i] =
            exact_element(alphas_[std::size_t(q)], rows, i, columns, j, betas_[std::size_t(q)],
                          values_[2][base_ + std::size_t(c.at(0, i, j))]);
  }

  // Compares C in `out` and overwrites it with NaN, so that only its surroundings remain.
  CheckResult compare(std::vector<T>& out, const std::vector<int>& codes) const {
    const std::string where = at_problem();
    CheckResult result;
    ErrorTally tally;
    for (std::int64_t q = 0; q < batch.stored(); ++q) {
      const bool used = q < batch.count();
      if (used && !codes.empty() && codes[std::size_t(q)] != code(q) && result.fault.empty())
        result.fault = fmt::format("{}: info of problem {} is {} instead of {}", where, q,
                                   codes[std::size_t(q)], code(q));
      if (used && (code(q) != 0 || !begins_sum(q))) continue;
      const StoredOperand c = batch.matrix(2, q);
      const std::int64_t k = batch.problem(q).k * (used ? batch.products_of_sum(q) : 1);
      const Exact<T>* exact = exact_.data() + (used ? begins_[std::size_t(q)] : 0);
      // The rows below an unused matrix may change like the matrix itself.
      const std::int64_t rows = used ? c.rows : c.column_step / c.row_step;
      for (std::int64_t j = 0; j < c.columns; ++j)
        for (std::int64_t i = 0; i < rows; ++i) {
          const std::size_t at = base_ + std::size_t(c.at(0, i, j));
          const T got = std::exchange(out[at], values_[2][at]);
          if (!used || !tally.add(deviation(got, *exact++, k))) continue;
          tally.worst.problem_index = q, tally.worst.row = i, tally.worst.column = j;
        }
    }
    result.accuracy = tally.accuracy();
    const Accuracy& worst = result.accuracy;
    if (!worst.passed() && result.fault.empty())
      result.fault = fmt::format(
          "{}: problem {} of {}, element ({}, {}) is wrong: error {:.3g} above bound {:.3g}", where,
          worst.problem_index, batch.count(), worst.row, worst.column, worst.error, worst.bound);
    if (std::memcmp(out.data(), values_[2].data(), out.size() * sizeof(T)) != 0 && result.fault.empty())
      result.fault = where + ": something outside C was written";
    return result;
  }

  std::string at_problem() const {
    GemmProblem p = batch.one().problem;
    p.batch_count = batch.count();
    return "at " + to_string(p);
  }

  static constexpr std::size_t guard_count = guard_bytes / sizeof(T);
  std::size_t base_;  // of the first element within `values_`
  std::vector<T> values_[3], alphas_, betas_;
  std::vector<Exact<T>> exact_;      // of problems without a fault, column by column
  std::vector<std::size_t> begins_;  // where each problem begins in exact_
};

}  // namespace

std::shared_ptr<std::byte> HostMemory::place(const void* from, std::size_t bytes) const {
  const auto buffer = std::make_shared<AlignedBuffer>(std::int64_t(bytes));
  if (bytes > 0) std::memcpy(buffer->data(), from, bytes);
  return {buffer, buffer->data()};
}
void HostMemory::read(void* to, const std::byte* from, std::size_t bytes) const {
  std::memcpy(to, from, bytes);
}

SmallCheck::SmallCheck(const SmallCase& one, std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  state_ = dispatch(one.problem.dtype, [&]<class T>() -> std::unique_ptr<const State> {
    return std::make_unique<const TypedSmallCheck<T>>(one, count, random);
  });
}
SmallCheck::~SmallCheck() = default;
SmallCheck::SmallCheck(SmallCheck&&) noexcept = default;
SmallCheck& SmallCheck::operator=(SmallCheck&&) noexcept = default;

const CheckedBatch& SmallCheck::batch() const { return state_->batch; }

CheckResult SmallCheck::run(const CheckMemory& memory,
                            const std::function<void(const Operands&)>& run) const {
  return state_->run(memory, run);
}

}  // namespace tilewright
