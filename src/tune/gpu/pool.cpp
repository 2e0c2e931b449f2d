// Compiles on every core, checks and times on the device.
#include "tune/gpu/pool.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "core/env.hpp"
#include "wisdom/families.hpp"

namespace tilewright {
namespace {

constexpr std::size_t most_checked_bytes = std::size_t(512) << 20;
constexpr std::size_t most_edges_kept = 4;

StencilCompiler default_compiler() {
  const Environment environment = Environment::read();
  const std::string cache = cache_folder(environment);
  return StencilCompiler(share_folder(environment, "kernel"),
                         cache.empty() ? std::filesystem::path() : std::filesystem::path(cache) / "kernels",
                         environment.nvrtc);
}

int new_enough(int device) {
  if (const std::string reason = why_too_old(Gpu::limits_of(device)); !reason.empty())
    throw Error(ErrorCode::unsupported, "device", reason);
  return device;
}

}  // namespace

TuneGpu::TuneGpu(int device, std::size_t operand_bytes)
    : gpu_(new_enough(device)),
      compiler_(default_compiler()),
      other_users_(gpu_.limits().uuid),
      arena_(gpu_, operand_bytes) {}

GemmProblem with_places_of_pointers(GemmProblem p) {
  if (p.layout != Layout::variable) return p;
  p.layout = Layout::pointer;
  p.lda = p.ldb = p.ldc = 0;
  return packed(p);
}

GpuSizes::GpuSizes(const Gpu& gpu, const GemmProblem& largest) {
  std::array<std::vector<std::int64_t>, 6> values;
  std::mt19937_64 random(5);
  const auto draw = [&](std::int64_t most) { return 1 + std::int64_t(random() % std::uint64_t(most)); };
  for (std::int64_t q = 0; q < largest.batch_count; ++q) {
    GemmProblem own = largest;
    own.m = draw(largest.m), own.n = draw(largest.n), own.k = draw(largest.k);
    const std::int64_t sizes[] = {own.m, own.n, own.k, own.a_rows(), own.b_rows(), own.m};
    for (std::size_t i = 0; i < values.size(); ++i) values[i].push_back(sizes[i]);
  }
  for (const auto& one : values) {
    buffers_.emplace_back(gpu, one.size() * sizeof one[0]);
    buffers_.back().write(one.data(), buffers_.back().bytes());
  }
}

VariableSizes GpuSizes::arrays() const {
  const auto at = [&](int i) { return buffers_[std::size_t(i)].as<const std::int64_t>(); };
  return {at(0), at(1), at(2), at(3), at(4), at(5)};
}

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
      scalars_(problem),
      slots_(size() + peer_count()) {
  arena_.fill(problem.dtype);
  if (problem.layout == Layout::pointer || problem.layout == Layout::variable)
    pointers_.emplace(
        gpu.gpu(), with_places_of_pointers(problem), ring_.batches(),
        [&](std::int64_t i) { return ring_.at(i); }, pointer_order(problem.batch_count, true));
  if (problem.layout == Layout::variable) sizes_.emplace(gpu.gpu(), problem);
  if (problem.arrival == Arrival::idle) isolated_.emplace();
  if (vendor_.trial != nullptr) slots_.back().trial = std::move(vendor_.trial);
}

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
    return {fmt::format("{} has operands of more than {} bytes, too many to check", to_string(p),
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

// Checks the small batches whole and the problem itself by samples: its whole reference would take hours.
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
  // The small batches covered variable sizes and sums.
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
  o.alpha = scalars_.alpha.data(), o.beta = scalars_.beta.data();
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
  if (isolated_) {
    const auto once = [&] { return timer_.seconds([&] { launch(trial); }); };
    const auto count = double(problem_.batch_count);
    return {isolated_->median_of(once, turn_s) / count, count * IsolatedCalls::calls_in(turn_s)};
  }
  const auto launches = std::max<std::int64_t>(1, std::llround(turn_s / slot.launch_s));
  // The launch beforehand hides the time that the host takes to queue the timed ones.
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
