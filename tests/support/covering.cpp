// Greedy construction of pairwise covering designs: each row starts from a pair not yet met and takes, factor
// by factor, the level that meets most new ones (after Cohen et al. 1997, AETG). The result is short, but not
// the shortest.
#include "support/covering.hpp"

#include <algorithm>
#include <numeric>
#include <random>

namespace tilewright::testing {
namespace {

class Pairs {
 public:
  explicit Pairs(const std::vector<int>& level_counts) : level_counts_(level_counts) {
    for (int count : level_counts) {
      first_.push_back(total_);
      total_ += count;
    }
    met_.assign(static_cast<std::size_t>(total_) * static_cast<std::size_t>(total_), false);
  }

  bool met(int f, int x, int g, int y) const { return met_[index(f, x, g, y)]; }
  void meet(int f, int x, int g, int y) { met_[index(f, x, g, y)] = met_[index(g, y, f, x)] = true; }

  // Finds the next pair that has not been met, continuing from the last one found.
  bool next_open(int& f, int& x, int& g, int& y) {
    const int factors = static_cast<int>(level_counts_.size());
    for (; f_ < factors; ++f_, g_ = 0)
      for (; g_ < f_; ++g_, x_ = 0)
        for (; x_ < levels(f_); ++x_, y_ = 0)
          for (; y_ < levels(g_); ++y_)
            if (!met(f_, x_, g_, y_)) {
              f = f_, x = x_, g = g_, y = y_;
              return true;
            }
    return false;
  }

  int levels(int f) const { return level_counts_[static_cast<std::size_t>(f)]; }

 private:
  std::size_t index(int f, int x, int g, int y) const {
    const auto row = static_cast<std::size_t>(first_[static_cast<std::size_t>(f)] + x);
    return row * static_cast<std::size_t>(total_) +
           static_cast<std::size_t>(first_[static_cast<std::size_t>(g)] + y);
  }

  std::vector<int> level_counts_;
  std::vector<int> first_;
  int total_ = 0;
  std::vector<bool> met_;
  int f_ = 1, x_ = 0, g_ = 0, y_ = 0;
};

}  // namespace

std::vector<std::vector<int>> covering_rows(const std::vector<int>& level_counts, std::uint64_t seed) {
  std::vector<std::vector<int>> rows;
  Pairs pairs(level_counts);
  std::mt19937_64 random(seed);
  const int factors = static_cast<int>(level_counts.size());
  std::vector<int> order(level_counts.size());
  std::iota(order.begin(), order.end(), 0);
  int f = 0, x = 0, g = 0, y = 0;
  while (pairs.next_open(f, x, g, y)) {
    std::vector<int> row(level_counts.size(), -1);
    const auto at = [&](int factor) -> int& { return row[static_cast<std::size_t>(factor)]; };
    at(f) = x;
    at(g) = y;
    std::shuffle(order.begin(), order.end(), random);
    for (int h : order) {
      if (at(h) >= 0) continue;
      int best = 0, best_gain = -1;
      const int start = static_cast<int>(random() % static_cast<std::uint64_t>(pairs.levels(h)));
      for (int step = 0; step < pairs.levels(h); ++step) {
        const int level = (start + step) % pairs.levels(h);
        int gain = 0;
        for (int o = 0; o < factors; ++o) gain += at(o) >= 0 && !pairs.met(h, level, o, at(o)) ? 1 : 0;
        if (gain > best_gain) best = level, best_gain = gain;
      }
      at(h) = best;
    }
    for (int i = 0; i < factors; ++i)
      for (int j = 0; j < i; ++j) pairs.meet(i, at(i), j, at(j));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace tilewright::testing
