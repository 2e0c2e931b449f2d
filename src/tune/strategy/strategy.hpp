// Strategies: in which order the points of a space are tried. A strategy sees abstract points and an
// evaluator that tells what each costs, so it works alike on a machine and on a recorded sweep; it neither
// measures nor decides about the winner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tune/points.hpp"

namespace tilewright {

// Tells what a point costs. Each point is measured at most once; asking again costs nothing.
class Evaluator {
 public:
  explicit Evaluator(std::size_t points);
  virtual ~Evaluator() = default;

  // Lower is better; infinity for a point that failed its check. Only while more().
  double cost(std::size_t point);
  bool known(std::size_t point) const { return known_[point]; }

  // False when budget or patience is spent: the strategy then returns.
  virtual bool more() const = 0;
  // Points that will be asked for soon, so that they can be prepared side by side.
  virtual void announce(std::span<const std::size_t> points) { (void)points; }

 protected:
  virtual double measure(std::size_t point) = 0;

 private:
  std::vector<bool> known_;
  std::vector<double> costs_;
};

struct Search {
  const PointSet& points;
  std::size_t start = 0;  // the default config: a sensible first guess
  std::uint64_t seed = 1;
};

struct Strategy {
  const char* name;
  const char* summary;
  void (*run)(const Search& search, Evaluator& evaluator);
};

void search_exhaustive(const Search& search, Evaluator& evaluator);
void search_random(const Search& search, Evaluator& evaluator);
void search_local(const Search& search, Evaluator& evaluator);
void search_model(const Search& search, Evaluator& evaluator);

// All of them, and the one of this name; throws Error(invalid_argument) naming those there are.
std::span<const Strategy> strategies();
const Strategy& strategy_named(const std::string& name);

}  // namespace tilewright
