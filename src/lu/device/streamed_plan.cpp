// A clock for panels, one for updates and one for columns that arrive.
#include <algorithm>

#include "lu/device/streamed.hpp"

namespace tilewright {

StreamedLuPlan::StreamedLuPlan(const LuShape& wanted, const LuPace& pace, int gpus, double column_up_s,
                               double column_down_s) {
  constexpr int width = 32;
  const LuShape shape = with_nb(wanted);
  const int steps = int((std::min(shape.m, shape.n) + shape.nb - 1) / shape.nb);
  const double up_s = column_up_s / gpus;  // links side by side
  double panel = 0, update = 0;            // when each is done with what it has
  const auto product = [&](double rows, double columns, double k) {
    return rows > 0 && columns > 0 ? pace.product.of(rows, columns, k) : 0;
  };
  for (int i = 0; i < steps; ++i) {
    const LuStep step = lu_step(shape, i);
    const double rows = double(shape.m - step.end());
    panel = std::max(panel, double(step.end()) * up_s) +
            product(double(shape.m - step.first), double(step.columns), double(shape.nb)) +
            pace.block_s(shape.m - step.first, step.columns, width);
    std::int64_t arrived = std::int64_t(up_s > 0 ? std::max(panel, update) / up_s : double(shape.n));
    const bool last = i + 1 == steps;
    const std::int64_t next = last ? shape.n : lu_step(shape, i + 1).end();
    arrived = std::clamp(arrived / shape.nb * shape.nb, next, std::max(next, shape.n));
    if (arrived + shape.nb > shape.n) arrived = shape.n;
    const std::int64_t before = i == 0 ? step.end() : arrived_.back();
    arrived = std::max(arrived, before);
    arrived_.push_back(arrived);
    // What is new catches up with all steps so far, what is there takes one.
    update =
        std::max({update, panel, double(arrived) * up_s}) +
        (product(double(shape.m) - double(step.first) / 2, double(arrived - before), double(step.first)) +
         product(rows, double(arrived - step.end()), double(step.columns))) /
            gpus;
  }
  // The last rows go down after all.
  seconds_ = std::max(panel, update) + column_down_s / gpus * double(std::min(shape.nb, shape.n));
  seconds_ = std::max(seconds_, column_down_s / gpus * double(shape.n));
}

}  // namespace tilewright
