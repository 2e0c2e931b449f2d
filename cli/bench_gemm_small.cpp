// Contenders of one case on the GPU, their turns, and the result in the words that all families share.
#include "bench_gemm_small.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "verbs.hpp"

#if TILEWRIGHT_HAS_GPU
#include "cblas_library.hpp"
#include "core/dispatch.hpp"
#include "device/gpu_blas.hpp"
#include "device/nvml.hpp"
#include "gemm/gpu_machine.hpp"
#include "gemm/plan.hpp"
#include "gpu_case.hpp"
#include "kernel/gpu_multiply.hpp"
#include "kernel/gpu_stream.hpp"
#include "measure/gpu_timer.hpp"
#endif

namespace tilewright::cli {

std::int64_t gpu_batch_count(const GemmProblem& p, std::size_t operand_bytes) {
  std::int64_t largest = 1;  // elements from one problem to the next
  for (const std::int64_t elements :
       {std::max(p.stride_a, p.lda * p.a_cols()), std::max(p.stride_b, p.ldb * p.b_cols()),
        std::max(p.stride_c, p.ldc * p.n)})
    largest = std::max(largest, elements);
  return std::max<std::int64_t>(1, std::int64_t(operand_bytes) / (largest * size_bytes(p.dtype)));
}

std::vector<std::string> gpu_peer_names() { return {"cublas_strided", "cublas_pointer", "cublas_grouped"}; }

#if TILEWRIGHT_HAS_GPU

namespace {

constexpr double shortest_turn_s = 2e-4;  // of one sample: many launches where batches are small
constexpr double slow_turn_s = 0.02;      // a few samples of contenders this slow say enough
constexpr int slow_samples = 3;
constexpr std::size_t most_finalists = 3;  // of the configs tried beside the plan's

struct GpuEntry {
  Role role = Role::peer;
  std::string impl, version, variant;
  std::function<void(std::int64_t batch)> run;
  std::shared_ptr<const GemmPlan> plan;
  Accuracy accuracy;
  std::vector<double> samples;
  std::int64_t launches = 1;  // in one turn
};

template <class T>
std::function<void(std::int64_t)> run_plan(std::shared_ptr<const GemmPlan> made, const BenchCase& c,
                                           const GpuCase& operands, void* stream) {
  const T alpha = peers::scalar_as<T>(c.alpha), beta = peers::scalar_as<T>(c.beta);
  return [made, alpha, beta, &operands, stream](std::int64_t index) {
    const Operands o = operands.batch(index);
    if (made->problem().layout == Layout::pointer)
      made->run<T>(alpha, static_cast<const T* const*>(o.a), static_cast<const T* const*>(o.b), beta,
                   static_cast<T* const*>(o.c), stream);
    else
      made->run<T>(alpha, static_cast<const T*>(o.a), static_cast<const T*>(o.b), beta, static_cast<T*>(o.c),
                   stream);
  };
}

// cuBLAS on the same operands. alpha and beta outlive the calls.
template <class T>
struct BlasCall {
  GpuBlas& blas;
  T alpha, beta;
  GpuBlas::Batch batch;

  BlasCall(GpuBlas& library, const BenchCase& c)
      : blas(library), alpha(peers::scalar_as<T>(c.alpha)), beta(peers::scalar_as<T>(c.beta)) {
    const GemmProblem& p = c.problem;
    batch.dtype = p.dtype;
    batch.op_a = p.op_a, batch.op_b = p.op_b;
    batch.m = int(p.m), batch.n = int(p.n), batch.k = int(p.k);
    batch.lda = int(p.lda), batch.ldb = int(p.ldb), batch.ldc = int(p.ldc);
    const bool pointers = p.layout == Layout::pointer;
    batch.stride_a = pointers ? p.lda * p.a_cols() : p.stride_a;
    batch.stride_b = pointers ? p.ldb * p.b_cols() : p.stride_b;
    batch.stride_c = pointers ? p.ldc * p.n : p.stride_c;
    batch.count = int(p.batch_count);
    batch.alpha = &alpha, batch.beta = &beta;
  }
  enum class Kind { strided, pointers, grouped };
  void with(const Operands& o, Kind kind) {
    batch.a = o.a, batch.b = o.b, batch.c = o.c;
    if (kind == Kind::strided) return blas.gemm_strided(batch);
    if (kind == Kind::pointers) return blas.gemm_pointers(batch);
    blas.gemm_grouped({batch});
  }
};

}  // namespace

namespace {

ContextOptions default_options() {
  ContextOptions options;
  options.use_wisdom = options.notices = false;
  return options;
}

}  // namespace

struct GpuBenchMachine::Impl {
  explicit Impl(const BenchPlan& bench_plan)
      : plan(bench_plan),
        without_wisdom(default_options()),
        machine(context.impl().gpus->open(bench_plan.device)),
        gpu(machine->gpu()),
        current(gpu),
        stream(gpu),
        timer(gpu, stream.get()),
        streams(gpu, machine->compiler()),
        multiplies(gpu, machine->compiler()),
        arena(gpu, std::size_t(bench_plan.operand_bytes)) {
    try {
      blas.emplace();
      blas->set_stream(stream.get());
    } catch (const Error& error) {
      no_blas = error.what();
    }
    try {
      nvml.emplace(gpu.limits().uuid);
    } catch (const Error& error) {
      no_nvml = error.what();
    }
  }

  bool wanted(const std::string& peer) const {
    return plan.all_peers || std::find(plan.peers.begin(), plan.peers.end(), peer) != plan.peers.end();
  }

  const BenchPlan& plan;
  Context context;
  Context without_wisdom;
  std::shared_ptr<const GpuMachine> machine;
  const Gpu& gpu;
  Gpu::Current current;
  GpuStream stream;
  GpuTimer timer;
  GpuStreams streams;
  GpuMultiplies multiplies;
  GpuArena arena;
  std::optional<GpuBlas> blas;
  std::string no_blas;
  std::optional<Nvml> nvml;
  std::string no_nvml;
};

namespace {

GemmOptions gpu_options(const BenchPlan& plan, const BenchCase& bench_case) {
  GemmOptions options = bench_case.options;
  options.device = plan.device;
  options.align_bytes = 0;  // that of allocations
  return options;
}

// One case: who takes part, whether they are right, their turns.
template <class Impl>
class GpuRun {
 public:
  GpuRun(Impl& machine, const BenchCase& bench_case)
      : m_(machine), case_(bench_case), operands_(machine.arena, bench_case) {
    result_.bench_case = bench_case;
    add_ours("tilewright", m_.context);
    if (case_.options.config.empty() && case_.options.candidate.empty())
      add_ours("tilewright_default", m_.without_wisdom);
    add_configs();
    add_peers();
    check_all();
  }

  CaseResult run(bool check_only) {
    if (!check_only) {
      screen();
      for (int r = 0; r < m_.plan.repetitions; ++r) turns(r);
    }
    return finish(check_only);
  }

 private:
  GemmOptions options() const { return gpu_options(m_.plan, case_); }

  void add_plan(const std::string& impl, const std::string& variant, Context& context,
                const GemmOptions& with) {
    GpuEntry entry;
    entry.role = Role::ours, entry.impl = impl, entry.version = TILEWRIGHT_VERSION, entry.variant = variant;
    entry.plan = std::make_shared<const GemmPlan>(plan(context, case_.problem, with));
    dispatch(case_.problem.dtype,
             [&]<class T>() { entry.run = run_plan<T>(entry.plan, case_, operands_, m_.stream.get()); });
    entries_.push_back(std::move(entry));
  }
  void add_ours(const std::string& impl, Context& context) { add_plan(impl, "", context, options()); }

  // The promising configs of the space, compiled side by side; those that do not compile or fit are left out.
  void add_configs() {
    if (m_.plan.configs == 0 || case_.problem.layout == Layout::pointer) return;
    const auto configs = gemm_small_promising(gemm_small_shape(case_.problem, 128), case_.problem.dtype,
                                              m_.gpu.limits(), std::size_t(m_.plan.configs));
    std::vector<GemmOptions> all;
    for (const GemmSmallConfig& config : configs) {
      all.push_back(options());
      all.back().config = to_json(config).dump();
    }
    std::vector<std::string> declined(all.size());
#pragma omp parallel for schedule(dynamic)
    for (std::size_t i = 0; i < all.size(); ++i) try {
        plan(m_.context, case_.problem, all[i]);
      } catch (const Error& error) {
        declined[i] = error.what();
      }
    for (std::size_t i = 0; i < all.size(); ++i)
      if (declined[i].empty())
        add_plan("tilewright", all[i].config, m_.context, all[i]);
      else
        result_.absences.push_back({"tilewright " + all[i].config, declined[i]});
  }

  void add_peers() {
    for (const std::string& name : gpu_peer_names()) {
      if (!m_.wanted(name)) continue;
      if (!m_.blas) {
        result_.absences.push_back({name, m_.no_blas});
        continue;
      }
      dispatch(case_.problem.dtype, [&]<class T>() { add_peer<T>(name); });
    }
  }
  template <class T>
  void add_peer(const std::string& name) {
    auto call = std::make_shared<BlasCall<T>>(*m_.blas, case_);
    GpuEntry entry;
    entry.impl = name, entry.version = m_.blas->version();
    const bool pointers = case_.problem.layout == Layout::pointer;
    if (name == "cublas_strided") {
      if (pointers) entry.role = Role::strided_peer;
      entry.run = [call, this](std::int64_t index) {
        call->with(operands_.in_place(index), BlasCall<T>::Kind::strided);
      };
    } else {
      const auto kind = name == "cublas_pointer" ? BlasCall<T>::Kind::pointers : BlasCall<T>::Kind::grouped;
      entry.run = [call, kind, this](std::int64_t index) { call->with(operands_.pointers_to(index), kind); };
    }
    entries_.push_back(std::move(entry));
  }

  // Nobody who is wrong is timed. Ours being wrong ends the run.
  void check_all() {
    std::erase_if(entries_, [&](GpuEntry& entry) {
      std::string wrong;
      try {
        entry.accuracy = operands_.check([&] { entry.run(0); });
        if (!entry.accuracy.passed())
          wrong = fmt::format("error {:.3g} above bound {:.3g} in problem {}", entry.accuracy.error,
                              entry.accuracy.bound, entry.accuracy.problem_index);
      } catch (const Error& error) {
        if (entry.role == Role::ours) throw;
        result_.absences.push_back({entry.impl, error.what()});
        return true;
      }
      if (wrong.empty()) return false;
      if (entry.role == Role::ours)
        throw JobFailed(
            fmt::format("{} {} on {}: {}", entry.impl, entry.variant, problem_text(case_), wrong));
      result_.absences.push_back({entry.impl, wrong, true});
      return true;
    });
  }

  double turn(GpuEntry& entry) {
    const double seconds = m_.timer.seconds([&] {
      for (std::int64_t i = 0; i < entry.launches; ++i) entry.run(next_++ % operands_.batches());
    });
    return seconds / double(entry.launches);
  }

  // How many launches a turn takes, and which of the configs tried go on.
  void screen() {
    for (GpuEntry& entry : entries_) {
      const double first = turn(entry);
      const double wanted = std::ceil(shortest_turn_s / std::max(first, 1e-7));
      entry.launches = std::clamp<std::int64_t>(std::int64_t(wanted), 1, 512);
      entry.samples = {turn(entry)};
      if (!entry.variant.empty()) entry.samples = {turn(entry), turn(entry), entry.samples[0]};
    }
    std::vector<double> tried;
    for (const GpuEntry& entry : entries_)
      if (!entry.variant.empty()) tried.push_back(estimate(entry.samples).centre);
    std::sort(tried.begin(), tried.end());
    std::erase_if(entries_, [&](const GpuEntry& entry) {
      return !entry.variant.empty() && tried.size() > most_finalists &&
             estimate(entry.samples).centre > tried[most_finalists - 1];
    });
    for (GpuEntry& entry : entries_)
      if (entry.samples.back() < slow_turn_s) entry.samples.clear();
  }

  void turns(int repetition) {
    for (GpuEntry& entry : entries_)
      if (repetition < slow_samples || entry.samples.empty() || entry.samples.back() < slow_turn_s)
        entry.samples.push_back(turn(entry));
    const auto& loops = m_.streams.loops(traffic_.mix.reads_c);
    rates_.resize(loops.size());
    for (std::size_t i = 0; i < loops.size(); ++i) {
      double moved = 0;
      const double seconds = m_.timer.seconds([&] {
        moved = GpuStreams::launch(loops[i], full_mix(), m_.arena.a(), m_.arena.b(), m_.arena.streamed_c(),
                                   m_.stream.get());
      });
      rates_[i].push_back(moved / seconds * 1e-9);
    }
    const auto& multiplies = m_.multiplies.loops();
    flops_.resize(multiplies.size());
    for (std::size_t i = 0; i < multiplies.size(); ++i)
      flops_[i].push_back(multiplies[i].flops / m_.timer.seconds([&] {
        GpuMultiplies::launch(multiplies[i], m_.arena.a(), m_.stream.get());
      }) * 1e-9);
  }

  // The case's proportions at the size of the whole operands.
  GpuStreamMix full_mix() const {
    GpuStreamMix mix = traffic_.mix;
    const double factor =
        double(m_.arena.operand_bytes()) / std::max({mix.a_bytes, mix.b_bytes, mix.c_bytes});
    mix.a_bytes *= factor, mix.b_bytes *= factor, mix.c_bytes *= factor;
    return mix;
  }

  void set_bound() {
    nlohmann::json rates = nlohmann::json::object(), gflops = nlohmann::json::object();
    const auto& loops = m_.streams.loops(traffic_.mix.reads_c);
    for (std::size_t i = 0; i < loops.size(); ++i) {
      const double rate = estimate(rates_[i]).centre;
      rates[loops[i].name] = rate;
      if (rate <= result_.memory_gbytes) continue;
      result_.memory_gbytes = rate;
      result_.ceiling_loop = loops[i].name;
    }
    const bool wide = case_.problem.dtype == DType::f64 || case_.problem.dtype == DType::c128;
    std::string multiply_loop;
    for (std::size_t i = 0; i < flops_.size(); ++i) {
      const auto& loop = m_.multiplies.loops()[i];
      const double rate = estimate(flops_[i]).centre;
      gflops[loop.name] = rate;
      if (loop.is_double != wide || rate <= result_.compute_gflops) continue;
      result_.compute_gflops = rate;
      multiply_loop = loop.name;
    }
    const double memory_s = traffic_.bytes / (result_.memory_gbytes * 1e9);
    const double compute_s = result_.work_flops / (result_.compute_gflops * 1e9);
    result_.bound_s = std::max(memory_s, compute_s);
    result_.bound_kind = memory_s >= compute_s ? "memory" : "compute";
    result_.ceiling = memory_s >= compute_s ? result_.memory_gbytes : result_.compute_gflops;
    if (memory_s < compute_s) result_.ceiling_loop = multiply_loop;
    result_.metrics["streaming_gbs"] = rates;
    result_.metrics["multiply_gflops"] = gflops;
    result_.metrics["sector_bytes"] = traffic_.bytes;
  }

  CaseResult finish(bool check_only) {
    result_.work_flops = flops(case_.problem);
    for (GpuEntry& entry : entries_) {
      const Estimate seconds = check_only ? Estimate{} : estimate(entry.samples);
      ImplResult impl{entry.role,      entry.impl, entry.version,  entry.variant,
                      Layout::strided, seconds,    entry.accuracy, entry.plan};
      const auto known = std::find_if(result_.impls.begin(), result_.impls.end(),
                                      [&](const ImplResult& r) { return r.impl == entry.impl; });
      if (known == result_.impls.end())
        result_.impls.push_back(std::move(impl));
      else if (seconds.centre < known->seconds.centre)
        *known = std::move(impl);
    }
    if (!check_only) set_bound();
    result_.metrics["clock"] = "device events";
    const GpuReadings readings = m_.nvml ? m_.nvml->read() : GpuReadings{};
    if (readings.clock_mhz) result_.metrics["clock_mhz"] = *readings.clock_mhz;
    if (readings.memory_clock_mhz) result_.metrics["memory_clock_mhz"] = *readings.memory_clock_mhz;
    if (readings.temperature_c) result_.metrics["temperature_c"] = *readings.temperature_c;
    result_.provenance = {{"device", m_.gpu.limits().name},
                          {"device_uuid", m_.gpu.limits().uuid},
                          {"driver", m_.nvml ? m_.nvml->driver_version() : m_.gpu.limits().driver_version},
                          {"compiler", m_.machine->compiler().nvrtc().version()}};
    return std::move(result_);
  }

  Impl& m_;
  const BenchCase& case_;
  GpuCase operands_;
  GpuTraffic traffic_ = gpu_traffic(case_.problem);
  std::vector<GpuEntry> entries_;
  std::vector<std::vector<double>> rates_, flops_;
  std::int64_t next_ = 0;
  CaseResult result_;
};

}  // namespace

GpuBenchMachine::GpuBenchMachine(const BenchPlan& plan) : impl_(std::make_unique<Impl>(plan)) {}
GpuBenchMachine::~GpuBenchMachine() = default;

std::vector<std::string> GpuBenchMachine::describe() const {
  const GpuLimits& limits = impl_->gpu.limits();
  std::vector<std::string> lines = {fmt::format("{} (sm_{}), {}", limits.name, limits.compute_capability,
                                                impl_->machine->compiler().nvrtc().version())};
  if (impl_->blas) lines.push_back("peers: cuBLAS " + impl_->blas->version());
  if (!impl_->no_blas.empty()) lines.push_back("not here: cuBLAS (" + impl_->no_blas + ")");
  if (!impl_->no_nvml.empty()) lines.push_back("not here: NVML (" + impl_->no_nvml + ")");
  return lines;
}

void GpuBenchMachine::prepare(const std::vector<BenchCase>& cases) {
  // What cannot be prepared says so when its case is run.
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < 2 * cases.size(); ++i) {
    const BenchCase& one = cases[i / 2];
    try {
      plan(i % 2 == 0 ? impl_->context : impl_->without_wisdom, one.problem, gpu_options(impl_->plan, one));
    } catch (const Error&) {
    }
  }
}

CaseResult GpuBenchMachine::run(const BenchCase& bench_case, bool check_only) {
  return GpuRun<Impl>(*impl_, bench_case).run(check_only);
}

#else

struct GpuBenchMachine::Impl {};
GpuBenchMachine::GpuBenchMachine(const BenchPlan&) {
  throw Error(ErrorCode::unsupported, "FAMILY",
              "FAMILY = 'gemm_small' is refused: this build has no GPU runtime");
}
GpuBenchMachine::~GpuBenchMachine() = default;
std::vector<std::string> GpuBenchMachine::describe() const { return {}; }
void GpuBenchMachine::prepare(const std::vector<BenchCase>&) {}
CaseResult GpuBenchMachine::run(const BenchCase&, bool) { return {}; }

#endif

}  // namespace tilewright::cli
