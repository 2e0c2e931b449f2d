// Allocates batches in the arena, and implements calls on them, samples and loops.
#include "bench/gpu/stage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/plans.hpp"
#include "kernel/gemm_large/gemm_large.hpp"
#include "kernel/gemm_small/gemm_small.hpp"
#include "measure/contest.hpp"
#include "people/refusal.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright::bench {
namespace {

constexpr double slow_turn_s = 0.02;    // a few samples suffice for contenders this slow
constexpr std::size_t size_arrays = 6;  // m, n, k and three leading dimensions

// The matrices of a pointer batch lie at equal distances, so that they also form a strided batch.
GemmProblem as_strided(GemmProblem p) {
  if (p.layout != Layout::pointer) return p;
  p.stride_a = gpu_pointer_distance(p.lda * p.a_cols(), size_bytes(p.dtype));
  p.stride_b = gpu_pointer_distance(p.ldb * p.b_cols(), size_bytes(p.dtype));
  p.stride_c = gpu_pointer_distance(p.ldc * p.n, size_bytes(p.dtype));
  return p;
}

// The shape for plans: the addresses of a pointer batch's matrices are unknown to them.
GemmSmallShape planned_shape(const GemmProblem& p) {
  return gemm_small_shape(p, p.layout == Layout::pointer ? static_cast<int>(size_bytes(p.dtype)) : 128);
}

bool is_wide(DType dtype) { return dtype == DType::f64 || dtype == DType::c128; }

// True if threads read A and B where they lie.
bool is_read_directly(const nlohmann::json& config) {
  return gemm_small_is_direct(from_json<GemmSmallConfig>(config).load);
}

}  // namespace

GpuStage::GpuStage(GpuBench& bench, GpuArena& arena, const Case& c)
    : bench_(bench),
      arena_(arena),
      case_(c),
      traffic_(gpu_traffic(c.problem)),
      pace_(c.is_large() ? large_gpu_pace : small_gpu_pace) {
  const GemmProblem& p = case_.problem;
  if (case_.layout == Layout::variable)
    traffic_.bytes += double(size_arrays * sizeof(std::int64_t)) * double(p.batch_count);
  const GpuOperandBytes batch = gpu_operand_bytes(p);
  if (case_.is_large()) {
    check_gpu_memory("--sizes", p, batch, arena.gpu().limits());
    arena.reserve(batch);
  }
  if (const std::size_t most = std::max({batch.a, batch.b, batch.c}); most > arena.operand_bytes())
    wrong_use("--batch", "--batch: {} needs operands of {} bytes, but {} are available", to_string(p), most,
              arena.operand_bytes());
  if (p.arrival == Arrival::idle) isolated_.emplace();
  arena.fill(p.dtype, case_.data);
  ring_.emplace(arena, batch);
  check_.emplace(sampled_check(arena, p, case_.alpha, case_.beta));
  if (case_.is_large()) return;
  order_ = pointer_order(p.batch_count, case_.pointer_order == PointerOrder::random);
  if (p.layout == Layout::pointer) pointers_to(0);
}

Operands GpuStage::in_place(std::int64_t index) const {
  Operands o = ring_->at(index);
  o.stream = bench_.stream.get();
  return o;
}

Operands GpuStage::batch(std::int64_t index) const {
  if (case_.problem.layout != Layout::pointer) return in_place(index);
  Operands o = pointers_->at(index);
  o.stream = bench_.stream.get();
  return o;
}

Operands GpuStage::pointers_to(std::int64_t index) {
  if (!pointers_)
    pointers_.emplace(
        arena_.gpu(), case_.problem, ring_->batches(), [&](std::int64_t i) { return ring_->at(i); }, order_);
  return pointers_->at(index);
}

Contender GpuStage::tested(const std::string& impl, Context& context, const GemmOptions& options) {
  Contender one{.role = Role::tested, .impl = impl, .version = TILEWRIGHT_VERSION};
  one.plan = std::make_shared<const GemmPlan>(plan(context, planned_problem(case_), options));
  GemmOptions on_stream = options;
  on_stream.queue.stream = bench_.stream.get();
  const auto at = [this](std::int64_t index) { return batch(index); };
  one.run = case_.layout == Layout::grouped    ? group_call<Location::device>(context, case_, on_stream, at)
            : case_.layout == Layout::variable ? variable_call(context, on_stream)
                                               : plan_call(one.plan, case_, at);
  one.check = [this, run = one.run] { return check([&] { run(0); }); };
  return one;
}

// Fills the sizes of every problem in device memory, all equal.
BatchCall GpuStage::variable_call(Context& context, const GemmOptions& options) const {
  return dispatch(case_.problem.dtype, [&]<class T>() -> BatchCall {
    const GemmProblem& p = case_.problem;
    const auto count = static_cast<std::size_t>(p.batch_count);
    const auto sizes = std::make_shared<std::vector<GpuBuffer>>();
    for (const std::int64_t size : {p.m, p.n, p.k, p.lda, p.ldb, p.ldc}) {
      const std::vector<std::int64_t> values(count, size);
      sizes->emplace_back(bench_.gpu, count * sizeof(std::int64_t))
          .write(values.data(), count * sizeof(std::int64_t));
    }
    VariableBatch<T> description;
    description.op_a = p.op_a, description.op_b = p.op_b;
    description.max_m = p.m, description.max_n = p.n, description.max_k = p.k;
    const std::int64_t** const arrays[size_arrays] = {&description.m,   &description.n,   &description.k,
                                                      &description.lda, &description.ldb, &description.ldc};
    for (std::size_t i = 0; i < size_arrays; ++i) *arrays[i] = (*sizes)[i].template as<std::int64_t>();
    description.alpha = value_from<T>(case_.alpha, 0), description.beta = value_from<T>(case_.beta, 0);
    description.count = p.batch_count;
    return [this, &context, sizes, description, options](std::int64_t index) {
      const Operands o = batch(index);
      VariableBatch<T> one = description;
      one.a = addresses<T>(o.a), one.b = addresses<T>(o.b), one.c = static_cast<T* const*>(o.c);
      gemm_variable<T>(context, one, options);
    };
  });
}

std::vector<nlohmann::json> GpuStage::promising(std::size_t count) const {
  const GemmProblem& p = case_.problem;
  const GpuLimits& limits = bench_.gpu.limits();
  std::vector<nlohmann::json> configs;
  if (case_.is_large()) {
    const GemmLargeDevice device =
        gemm_large_device(limits, fitted_coefficients(nullptr, limits.name, architecture_of(limits)));
    for (const auto& config : gemm_large_promising(p, gemm_large_shape(p), device, count))
      configs.push_back(to_json(config));
    return configs;
  }
  for (const auto& config : gemm_small_promising(planned_shape(p), p.dtype, limits, count))
    configs.push_back(to_json(config));
  return configs;
}

// The two methods of Dongarra 2017, Fig. 5b: BlkIntlSM and BlkIntl.
std::vector<Stage::Variant> GpuStage::variants(std::size_t count) const {
  const GemmProblem& p = case_.problem;
  const auto configs = [&](bool (*wanted)(GemmSmallLoad)) {
    std::vector<nlohmann::json> all;
    for (const auto& config : gemm_small_promising(gemm_small_shape(p, 128), p.dtype, bench_.gpu.limits(),
                                                   count, p.batch_count, wanted))
      all.push_back(to_json(config));
    return all;
  };
  return {{"shared memory", configs([](GemmSmallLoad load) { return !gemm_small_is_direct(load); }),
           [](const nlohmann::json& config) { return !is_read_directly(config); }},
          {"no shared memory", configs([](GemmSmallLoad load) { return gemm_small_is_direct(load); }),
           is_read_directly}};
}

// Calls cuBLAS in one of the forms in which its interface can express the case.
BatchCall GpuStage::peer_call(const std::string& name) {
  if (const std::string why = GpuBlas::why_not(case_.problem); !why.empty())
    throw Error(ErrorCode::unsupported, "--peers", why);
  return dispatch(case_.problem.dtype, [&]<class T>() -> BatchCall {
    struct Scalars {
      T alpha, beta;
    };
    const auto scalars =
        std::make_shared<const Scalars>(Scalars{value_from<T>(case_.alpha, 0), value_from<T>(case_.beta, 0)});
    const GemmProblem p = as_strided(case_.problem);
    const auto call = [scalars, p](Operands o) {
      o.alpha = &scalars->alpha, o.beta = &scalars->beta;
      return GpuBlas::batch_of(p, o);
    };
    GpuBlas* const blas = &*bench_.blas;
    if (name == "cublas" && p.layout == Layout::single)
      return [=, this](std::int64_t index) { blas->gemm(call(in_place(index))); };
    if (name == "cublas_tuned") {
      if (p.layout != Layout::single) throw Error(ErrorCode::unsupported, "--peers", "it tunes no batches");
      const BatchCall run = [=, this](std::int64_t index) { blas->gemm_tuned(call(in_place(index))); };
      (void)check([&] { run(0); });  // searches, or says that the library cannot, and leaves C as it was
      return run;
    }
    if (name == "cublas" || name == "cublas_strided")
      return [=, this](std::int64_t index) { blas->gemm_strided(call(in_place(index))); };
    if (name == "cublas_pointer")
      return [=, this](std::int64_t index) { blas->gemm_pointers(call(pointers_to(index))); };
    return [=, this](std::int64_t index) { blas->gemm_grouped({call(pointers_to(index))}); };
  });
}

void GpuStage::add_peers(std::vector<Contender>& to, std::vector<Absence>& absences) {
  for (const std::string& name : gpu_peer_names(case_.family)) {
    if (!bench_.plan.wants(name)) continue;
    if (bench_.plan.all_peers && name == "cublas_tuned") continue;  // the fair peer is the library's default
    if (!bench_.blas) {
      absences.push_back({name, bench_.no_blas});
      continue;
    }
    try {
      Contender one{.impl = name, .version = bench_.blas->version()};
      if (name == "cublas_strided" && case_.problem.layout == Layout::pointer) one.role = Role::strided_peer;
      one.run = peer_call(name);
      one.check = [this, run = one.run] { return check([&] { run(0); }); };
      to.push_back(std::move(one));
    } catch (const Error& error) {
      absences.push_back({name, error.what()});
    }
  }
}

void GpuStage::add_loops(std::vector<Contender>& to) {
  bench_.add_streams(traffic_.mix, to);
  for (const GpuMultiplies::Loop& loop : bench_.multiplies.loops()) {
    const bool bounds = loop.is_double == is_wide(case_.problem.dtype);
    Contender one{
        .role = bounds ? Role::compute_loop : Role::other_loop, .impl = "multiply", .variant = loop.name};
    one.work = loop.flops;
    one.run = [this, &loop](std::int64_t) { GpuMultiplies::launch(loop, arena_.a(), bench_.stream.get()); };
    to.push_back(std::move(one));
  }
}

// After a fault on the device nothing runs any more in this process, so the error names the peer that caused
// it.
void GpuStage::expect_sound(const Contender& one, const Error& fault) const {
  try {
    bench_.gpu.synchronize();
  } catch (const Error&) {
    throw Error(ErrorCode::internal, one.impl,
                fmt::format("{} on {} broke the device's context ({}); leave it out with --peers", one.impl,
                            problem_text(case_), fault.what()));
  }
}

double GpuStage::launched(const Contender& one, std::int64_t launches) {
  return bench_.timer.seconds([&] {
    for (std::int64_t i = 0; i < launches; ++i) one.run(next_++ % ring_->batches());
  });
}

double GpuStage::turn(Contender& one) {
  if (one.is_loop()) return bench_.timer.seconds([&] { one.run(0); });
  if (isolated_) return isolated_->median_of([&] { return launched(one, 1); }, 0);
  const auto timed = [&](std::int64_t runs) {
    if (pace_.untimed_s > 0)
      launched(one, std::max<std::int64_t>(1, std::llround(double(runs) * pace_.untimed_s / pace_.turn_s)));
    return launched(one, runs) / double(runs);
  };
  const auto fit = [&](std::int64_t runs) {
    const double wanted = std::ceil(pace_.turn_s / std::max(timed(runs), 1e-7));
    return std::clamp<std::int64_t>(std::int64_t(wanted), 1, pace_.most_launches);
  };
  if (one.runs == 0) {
    one.runs = fit(1);
    if (pace_.untimed_s > 0) one.runs = fit(one.runs);  // a single launch includes time of the host
  }
  return timed(one.runs);
}

RoundRules GpuStage::rules() const {
  // Enough rounds for ratios to have an interval.
  return {.rounds = bench_.plan.repetitions, .slow_s = slow_turn_s, .slow_rounds = least_paired_rounds};
}

GpuLoad GpuStage::steady(const Contender& one, const GpuLoadWindow& window, Observer* observer) {
  const auto launch = [&] { one.run(next_++ % ring_->batches()); };
  launch();  // the host queues the other launches while it runs
  const double launch_s = bench_.timer.seconds([&] { launch(), launch(); }) / 2;
  const Nvml* nvml = bench_.use.nvml();
  GpuLoad load = run_steadily(
      bench_.gpu, bench_.stream, launch, launch_s, window,
      [&] { return nvml == nullptr ? std::nullopt : nvml->energy_j(); }, observer);
  if (nvml == nullptr) load.energy.fault = bench_.use.absence();
  return load;
}

// Measured in its own window, which is too long for the rounds.
void GpuStage::measure_energy(Contender& one) {
  if (isolated_) return;  // the meter sees the gaps too
  one.energy_note = bench_.use.absence();
  if (bench_.use.nvml() == nullptr) return;
  const double window_s = bench_.plan.energy_window_s;
  const GpuLoad load = steady(one, {.heat_s = std::min(3.0, window_s / 4), .window_s = window_s});
  one.energy_note = load.energy.fault;
  if (load.energy.fault.empty())
    one.energy_samples.push_back(load.joules_per_launch()), one.watts = load.energy.watts();
}

int GpuStage::moved(const Contender& one, int runs) {
  const std::size_t bytes = gpu_operand_bytes(case_.problem).c;
  std::vector<std::byte> before(bytes), first(bytes), again(bytes);
  bench_.gpu.read(before.data(), arena_.c(), bytes);
  int count = 0;
  for (int run = 0; run <= runs; ++run) {
    bench_.gpu.write(arena_.c(), before.data(), bytes);
    one.run(0);
    bench_.gpu.synchronize();
    bench_.gpu.read((run == 0 ? first : again).data(), arena_.c(), bytes);
    count += run > 0 && first != again;
  }
  bench_.gpu.write(arena_.c(), before.data(), bytes);
  return count;
}

nlohmann::json GpuStage::launch_once(const Contender& one) {
  const GemmProblem& p = case_.problem;
  nlohmann::json keys = nlohmann::json::object();
  if (one.plan) {
    const nlohmann::json config = config_of(*one.plan);
    const GpuLaunch launch =
        case_.is_large()
            ? bench_.machine
                  ->gemm_large(gemm_large_shape(p), from_json<GemmLargeConfig>(config), p.dtype, true)
                  ->needs(p)
                  .launch
            : bench_.machine->gemm_small(planned_shape(p), from_json<GemmSmallConfig>(config), p.dtype, true)
                  ->geometry(p.batch_count);
    keys = {{"config", config}, {"blocks", launch.blocks}, {"threads", launch.threads}};
  }
  one.run(0);
  bench_.gpu.synchronize();
  return keys;
}

void GpuStage::tell(const std::vector<Contender>& timed, CaseResult& result) const {
  nlohmann::json streaming = nlohmann::json::object(), multiplying = nlohmann::json::object();
  for (const Contender& one : timed)
    if (one.is_loop())
      (one.role == Role::memory_loop ? streaming : multiplying)[one.variant] = one.rate() * 1e-9;
  if (!streaming.empty()) {
    result.metrics["streaming_gbs"] = streaming;
    result.metrics["multiply_gflops"] = multiplying;
    result.metrics["sector_bytes"] = traffic_.bytes;
  }
  result.metrics["clock"] = "device events";
  result.metrics.update(bench_.readings());
  result.notes = bench_.use.notes();
  result.provenance = bench_.provenance();
}

std::unique_ptr<Stage> GpuBench::stage(const Case& c, int place) {
  if (place == 0) return std::make_unique<GpuStage>(*this, arena, c);
  if (!second) second.emplace(gpu, std::size_t(plan.operand_bytes));
  second->reserve(gpu_operand_bytes(c.problem));  // the last block of interleaved batches is stored whole
  return std::make_unique<GpuStage>(*this, *second, c);
}

}  // namespace tilewright::bench
