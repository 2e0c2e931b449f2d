// Compiling on every core, checking and timing on the device.
#include "tune/gpu/pool.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "core/dispatch.hpp"
#include "measure/gpu/energy.hpp"
#include "measure/gpu/observer.hpp"
#include "measure/typed_values.hpp"
#include "tune/prepared_call.hpp"
#include "wisdom/families.hpp"

namespace tilewright {
namespace {

constexpr std::size_t most_checked_bytes = std::size_t(512) << 20;
constexpr std::size_t most_edges_kept = 4;

}  // namespace

// alpha and beta as values of the problem's type.
struct GpuPool::Scalars {
  explicit Scalars(const GemmProblem& p) {
    dispatch(p.dtype, [&]<class T>() {
      const T a = value_from<T>(representative(p.alpha)), b = value_from<T>(representative(p.beta));
      std::memcpy(alpha.data(), &a, sizeof a);
      std::memcpy(beta.data(), &b, sizeof b);
    });
  }
  alignas(16) std::array<std::byte, 16> alpha, beta;
};

void reserve_operands(const GemmProblem& timed, TuneGpu& gpu) {
  const GpuOperandBytes needed = gpu_operand_bytes(with_places_of_pointers(timed));
  check_gpu_memory("PROBLEM", timed, needed, gpu.gpu().limits());
  gpu.arena().reserve(needed);
}

GpuPool::GpuPool(const GemmProblem& problem, std::unique_ptr<GpuKernels> kernels, GpuVendor vendor,
                 TuneGpu& gpu)
    : CheckedPool(kernels->size(), vendor.trial == nullptr ? 0 : 1, made_together),
      problem_(problem),
      kernels_(std::move(kernels)),
      vendor_(std::move(vendor)),
      gpu_(gpu),
      arena_(gpu.arena()),
      stream_(gpu.gpu()),
      timer_(gpu.gpu(), stream_.get()),
      ring_(gpu.arena(), gpu_operand_bytes(with_places_of_pointers(problem))),
      scalars_(std::make_unique<const Scalars>(problem)),
      slots_(size() + peer_count()) {
  arena_.fill(problem.dtype);
  if (problem.layout == Layout::pointer || problem.layout == Layout::variable)
    pointers_.emplace(
        gpu.gpu(), with_places_of_pointers(problem), ring_.batches(),
        [&](std::int64_t i) { return ring_.at(i); }, pointer_order(problem.batch_count, true));
  if (problem.layout == Layout::variable) sizes_.emplace(gpu.gpu(), DrawnSizes(problem, problem.batch_count));
  if (vendor_.trial != nullptr) slots_.back().trial = std::move(vendor_.trial);
}
GpuPool::~GpuPool() = default;

Origin GpuPool::origin() const {
  const GpuLimits& limits = arena_.gpu().limits();
  return {kernels_->family(),
          limits.name,
          limits.uuid,
          limits.driver_version,
          current_source_hash(kernels_->family()),
          gpu_.compiler().provenance()};
}

const GpuTrial& GpuPool::trial(std::size_t i) {
  Slot& slot = slots_[i];
  if (slot.trial == nullptr) slot.trial = kernels_->load(i, slot.binary);
  return *slot.trial;
}

CheckResult GpuPool::check(const GpuTrial& trial, const SmallCase& edges) {
  const GemmProblem& p = edges.problem;
  if (const GpuOperandBytes bytes = gpu_operand_bytes(p);
      std::max({bytes.a, bytes.b, bytes.c}) > most_checked_bytes)
    return {fmt::format("{} has operands of more than {} bytes, which would have to be checked", to_string(p),
                        most_checked_bytes),
            {}};
  auto known = std::find_if(edges_.begin(), edges_.end(),
                            [&](const SmallCheck& check) { return check.batch().one() == edges; });
  if (known == edges_.end()) {
    if (edges_.size() == most_edges_kept) edges_.erase(edges_.begin());
    edges_.emplace_back(edges, p.batch_count);
    known = edges_.end() - 1;
  }
  return known->run(GpuMemory(arena_.gpu()), [&](const Operands& o) { trial.run_edges(o); });
}

// The sampled elements of the problem itself come second: a reference of all of them would take hours for
// what the device does in milliseconds.
CheckResult GpuPool::check(std::size_t i) {
  const GpuTrial& one = trial(i);
  SmallCase edges = one.edges();
  CheckResult result = check(one, edges);
  const Layout layout = problem_.layout;
  if (result.fault.empty() && (layout == Layout::pointer || layout == Layout::variable)) {
    edges.any_alignment = true;  // such kernels serve every alignment
    const Accuracy seen = result.accuracy;
    result = check(one, edges);
    result.accuracy = worse_of(result.accuracy, seen);
  }
  // Batches of many sizes, and of sums, have been looked at.
  if (!result.fault.empty() || layout == Layout::variable || problem_.sums != Sums::none) return result;
  if (!sample_)
    sample_.emplace(
        sampled_check(arena_, problem_, representative(problem_.alpha), representative(problem_.beta)));
  const Accuracy sampled = sample_->check([&] { one.run(operands(0)); });
  result.accuracy = worse_of(sampled, result.accuracy);
  if (!sampled.passed()) result.fault = fmt::format("at {}: {}", to_string(problem_), sampled.fault());
  return result;
}

std::vector<std::unique_ptr<Observer>> GpuPool::observers() const {
  std::vector<std::unique_ptr<Observer>> all;
  all.push_back(std::make_unique<GpuObserver>(arena_.gpu().limits().uuid));
  return all;
}

Operands GpuPool::operands(std::int64_t index) const {
  Operands o = pointers_ ? pointers_->at(index) : ring_.at(index);
  if (sizes_) o.sizes = sizes_->arrays();
  o.alpha = scalars_->alpha.data(), o.beta = scalars_->beta.data();
  o.stream = stream_.get();
  return o;
}

const GpuTrial& GpuPool::warm(std::size_t i) {
  const GpuTrial& one = trial(i);
  if (slots_[i].launch_s == 0) slots_[i].launch_s = timer_.seconds([&] { launch(one); });
  return one;
}

TurnTimer::Turn GpuPool::time_made(std::size_t i, double turn_s) {
  const GpuTrial& trial = warm(i);
  Slot& slot = slots_[i];
  const auto launches = std::max<std::int64_t>(1, std::llround(turn_s / slot.launch_s));
  // While one launch runs the host queues the next, so that its own time is not taken for the device's.
  if (launches > 1) launch(trial);
  const double seconds = timer_.seconds([&] {
    for (std::int64_t l = 0; l < launches; ++l) launch(trial);
  });
  slot.launch_s = seconds / double(launches);
  const double problems = double(launches) * double(problem_.batch_count);
  return {seconds / problems, problems};
}

Metrics GpuPool::time_with_energy(std::size_t i, double turn_s, EnergyMeter& meter) {
  require(i);
  const GpuTrial& trial = warm(i);
  const auto joules = [&]() -> std::optional<double> {
    try {
      return meter.joules();
    } catch (const Error&) {
      return std::nullopt;
    }
  };
  GpuLoadWindow window{.heat_s = turn_s / 4, .window_s = 3 * turn_s / 4};
  const auto run = [&] {
    return run_steadily(
        arena_.gpu(), stream_, [&] { launch(trial); }, slots_[i].launch_s, window, joules);
  };
  GpuLoad load = run();
  if (!load.energy.fault.empty()) {
    window.window_s *= 2;
    load = run();
  }
  if (!load.energy.fault.empty())
    throw Error(ErrorCode::io, "energy",
                fmt::format("no energy was measured of {}: {}", to_string(problem_), load.energy.fault));
  const auto count = double(problem_.batch_count);
  return {load.mean_s / count, load.joules_per_launch() / count};
}

}  // namespace tilewright
