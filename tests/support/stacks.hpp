// Stacks over three buffers of blocks, with their expected results by plain loops. It runs nothing on a GPU,
// but provides the data that such a test copies there.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gemm/run/reference.hpp"
#include "golden/stack_fields.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright::testing {

template <class T>
T whole_number(std::mt19937_64& random) {
  const auto draw = [&] { return static_cast<decltype(std::abs(T()))>(int(random() % 7) - 3); };
  if constexpr (is_complex(dtype_of<T>))
    return T(draw(), draw());
  else
    return draw();
}

template <class T>
T any_number(std::mt19937_64& random) {
  std::uniform_real_distribution<double> draw(-1, 1);
  if constexpr (is_complex(dtype_of<T>))
    return T(decltype(std::abs(T()))(draw(random)), decltype(std::abs(T()))(draw(random)));
  else
    return T(draw(random));
}

struct StackShape {
  std::int64_t m, n, k;
  Op op_a = Op::none, op_b = Op::none;
  std::int64_t gap = 0;  // between columns, for all operands
};

// The order of the products in a list that share one C: in runs, of which a C may have several; in one run
// for each C, of at most as many C as there are blocks; shuffled.
enum class Order { runs, one_run, shuffled };

// Stacks over three buffers with their expected results. Elements are small whole numbers, so that sums are
// exact in every order.
template <class T>
class Stacks {
 public:
  Stacks(unsigned seed, std::int64_t blocks_of_c, bool whole = true) : random_(seed), blocks_(blocks_of_c) {
    for (std::vector<T>* x : {&a_, &b_, &c_}) {
      x->resize(std::size_t(blocks_) * block_elements);
      for (T& value : *x) value = whole ? whole_number<T>(random_) : any_number<T>(random_);
    }
  }

  // A run has 1 to `longest_run` products. Stacks of one C block agree in m, n and ldc.
  void add(const StackShape& s, Order order, std::int64_t runs, std::int64_t longest_run, T alpha = T(1),
           bool by_pointers = false) {
    StackFields<T> stack;
    stack.op_a = s.op_a, stack.op_b = s.op_b;
    stack.m = s.m, stack.n = s.n, stack.k = s.k;
    stack.alpha = alpha;
    stack.lda = (s.op_a == Op::none ? s.m : s.k) + s.gap;
    stack.ldb = (s.op_b == Op::none ? s.k : s.n) + s.gap;
    stack.ldc = s.m + s.gap;
    std::vector<StackOffsets> list;
    for (std::int64_t r = 0; r < runs; ++r) {
      const std::int64_t c =
          order == Order::one_run ? (r * 5 + 3) % blocks_ : std::int64_t(random_() % std::uint64_t(blocks_));
      const std::int64_t length = 1 + std::int64_t(random_() % std::uint64_t(longest_run));
      for (std::int64_t i = 0; i < length; ++i)
        list.push_back({any_block(), any_block(), c * block_elements});
    }
    if (order == Order::shuffled) std::shuffle(list.begin(), list.end(), random_);
    stack.count = std::int64_t(list.size());
    lists_.push_back(std::move(list));
    pointers_.emplace_back();
    stacks_.push_back(stack);
    by_pointers_.push_back(by_pointers);
  }

  // Returns the contents of C after all lists.
  std::vector<T> expected(T beta) const {
    std::vector<T> c = c_;
    std::vector<bool> seen(std::size_t(blocks_), false);
    for (std::size_t s = 0; s < stacks_.size(); ++s)
      for (const StackOffsets& x : lists_[s]) {
        auto is_seen = seen[std::size_t(x.c / block_elements)];
        multiply(stacks_[s], x, is_seen ? T(1) : beta, c);
        is_seen = true;
      }
    return c;
  }

  std::vector<T> run(Context& context, T beta, const GemmOptions& options = {}) {
    std::vector<T> c = c_;
    std::vector<StackFields<T>> stacks = stacks_;
    for (std::size_t s = 0; s < stacks.size(); ++s) {
      if (!by_pointers_[s]) {
        stacks[s].a = a_.data(), stacks[s].b = b_.data(), stacks[s].c = c.data();
        stacks[s].offsets = lists_[s].data();
        continue;
      }
      pointers_[s].clear();
      for (const StackOffsets& x : lists_[s])
        pointers_[s].push_back({a_.data() + x.a, b_.data() + x.b, c.data() + x.c});
      stacks[s].pointers = pointers_[s].data();
    }
    gemm_stack<T>(context, made(std::span<const StackFields<T>>(stacks)), beta, options);
    return c;
  }

  const std::vector<T>& a() const { return a_; }
  const std::vector<T>& b() const { return b_; }
  const std::vector<T>& c() const { return c_; }
  std::size_t count() const { return stacks_.size(); }
  bool by_pointers(std::size_t s) const { return by_pointers_[s]; }
  void fill_c(T value) { std::fill(c_.begin(), c_.end(), value); }
  StackFields<T>& stack(std::size_t s) { return stacks_[s]; }
  std::vector<StackOffsets>& list(std::size_t s) { return lists_[s]; }

 private:
  static constexpr std::int64_t block_elements = 70 * 75;

  std::int64_t any_block() { return std::int64_t(random_() % std::uint64_t(blocks_)) * block_elements + 1; }

  void multiply(const StackFields<T>& s, const StackOffsets& x, T beta, std::vector<T>& c) const {
    GemmProblem p;
    p.dtype = dtype_of<T>;
    p.op_a = s.op_a, p.op_b = s.op_b, p.m = s.m, p.n = s.n, p.k = s.k;
    p.lda = s.lda, p.ldb = s.ldb, p.ldc = s.ldc;
    p.alpha = p.beta = Scalar::general;
    Operands o;
    o.a = a_.data() + x.a, o.b = b_.data() + x.b, o.c = c.data() + x.c;
    o.alpha = &s.alpha, o.beta = &beta;
    gemm_reference(p, o);
  }

  std::mt19937_64 random_;
  std::int64_t blocks_;
  std::vector<T> a_, b_, c_;
  std::vector<StackFields<T>> stacks_;
  std::vector<std::vector<StackOffsets>> lists_;
  std::vector<std::vector<StackPointers<T>>> pointers_;
  std::vector<bool> by_pointers_;
};

}  // namespace tilewright::testing
