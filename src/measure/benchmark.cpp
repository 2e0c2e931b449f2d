// The loop of repetitions: calibrate, shuffle, time, drop the hopeless.
#include "measure/benchmark.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include "measure/clock.hpp"

namespace tilewright {
namespace {

class Session {
 public:
  Session(const std::vector<Contender>& contenders, const TimingSchedule& schedule)
      : contenders_(contenders),
        schedule_(schedule),
        samples_(contenders.size()),
        loops_(contenders.size(), 0),
        active_(contenders.size(), true),
        random_(20250101) {}

  std::vector<Estimate> run() {
    std::vector<std::size_t> order(contenders_.size());
    std::iota(order.begin(), order.end(), 0);
    for (int r = 0; r < schedule_.repetitions; ++r) {
      if (r == schedule_.screening) drop_the_hopeless();
      std::shuffle(order.begin(), order.end(), random_);
      for (const std::size_t index : order)
        if (active_[index]) samples_[index].push_back(turn(index));
    }
    std::vector<Estimate> results;
    for (const auto& samples : samples_) results.push_back(estimate(samples));
    return results;
  }

 private:
  double turn(std::size_t index) {
    const Contender& contender = contenders_[index];
    if (!schedule_.hot && !contender.always_hot) return cold_turn(contender);
    if (loops_[index] == 0) loops_[index] = calibrate(contender);
    hot_loop(contender,
             1 + loops_[index] / 16);  // its own code, clock and data are warm before the clock starts
    return hot_loop(contender, loops_[index]);
  }

  // The next batches of the ring: what anyone touched lies a whole ring back.
  double cold_turn(const Contender& contender) {
    if (position_ + schedule_.batches_per_turn > schedule_.batches) position_ = 0;
    const std::int64_t first = position_;
    position_ += schedule_.batches_per_turn;
    const double begin = measure_seconds(schedule_.threads);
    for (std::int64_t b = first; b < position_; ++b) contender.run(b);
    const double elapsed = measure_seconds(schedule_.threads) - begin;
    return elapsed / static_cast<double>(schedule_.batches_per_turn);
  }

  double hot_loop(const Contender& contender, std::int64_t loops) {
    return schedule_.threads == 1 ? hot_loop_alone(contender, loops) : hot_loop_threads(contender, loops);
  }

  static double hot_loop_alone(const Contender& contender, std::int64_t loops) {
    const double begin = thread_cpu_seconds();
    for (std::int64_t i = 0; i < loops; ++i) contender.run(0);
    return (thread_cpu_seconds() - begin) / static_cast<double>(loops);
  }

  // Seconds from the common start to the end of the last thread.
  double hot_loop_threads(const Contender& contender, std::int64_t loops) const {
    double first = std::numeric_limits<double>::infinity();
    double last = 0;
#pragma omp parallel num_threads(schedule_.threads) reduction(min : first) reduction(max : last)
    {
      const int thread = omp_get_thread_num();
#pragma omp barrier
      first = wall_seconds();
      for (std::int64_t i = 0; i < loops; ++i) contender.run(thread);
      last = wall_seconds();
    }
    return (last - first) / static_cast<double>(loops);
  }

  std::int64_t calibrate(const Contender& contender) {
    std::int64_t loops = 1;
    for (;;) {
      const double seconds = hot_loop(contender, loops) * static_cast<double>(loops);
      if (seconds >= schedule_.hot_turn_s / 4)
        return std::max<std::int64_t>(1, std::llround(double(loops) * schedule_.hot_turn_s / seconds));
      loops *= 4;
    }
  }

  void drop_the_hopeless() {
    std::map<int, double> best;
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      const double centre = estimate(samples_[i]).centre;
      const auto [at, inserted] = best.emplace(contenders_[i].rivals, centre);
      if (!inserted) at->second = std::min(at->second, centre);
    }
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      const int rivals = contenders_[i].rivals;
      if (rivals >= 0 && estimate(samples_[i]).centre > schedule_.drop_factor * best[rivals])
        active_[i] = false;
    }
  }

  const std::vector<Contender>& contenders_;
  const TimingSchedule& schedule_;
  std::vector<std::vector<double>> samples_;
  std::vector<std::int64_t> loops_;
  std::vector<bool> active_;
  std::mt19937_64 random_;
  std::int64_t position_ = 0;
};

}  // namespace

std::vector<Estimate> benchmark(const std::vector<Contender>& contenders, const TimingSchedule& schedule) {
  return Session(contenders, schedule).run();
}

}  // namespace tilewright
