// The host as a machine: batches in one arena, samples by the thread's CPU time or, with several threads, by
// the wall clock, and the peers that are found on it.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "bench/calls.hpp"
#include "bench/machine.hpp"
#include "device/cpu.hpp"
#include "measure/ceilings.hpp"
#include "measure/check_sampled.hpp"
#include "measure/clock.hpp"
#include "measure/conversion.hpp"
#include "measure/counters.hpp"
#include "measure/isolated.hpp"
#include "measure/streaming.hpp"
#include "peers/peer.hpp"

namespace tilewright::bench {
namespace {

constexpr double turn_bytes = 48.0 * 1024 * 1024;  // operands of one cold sample: a few milliseconds
constexpr double hot_turn_s = 1e-3;                // a hot sample repeats its batch for at least this long

Placement placement_of(const std::string& name) {
  return name == "interleave" ? Placement::interleave
         : name == "per_node" ? Placement::per_node
                              : Placement::first_touch;
}

struct Host : Machine {
  explicit Host(const Plan& run) : Machine(run), search(peers::find_peers()) {}

  std::vector<std::string> describe() const override {
    if (!plan.all_peers && plan.peers.empty()) return {};
    std::string found;
    for (const auto& peer : search.found)
      found += fmt::format("{}{} {}", found.empty() ? "" : ", ", peer->name(), peer->version());
    std::vector<std::string> lines = {"peers: " + (found.empty() ? "none" : found)};
    for (const auto& missing : search.missing)
      lines.push_back(fmt::format("not here: {} ({})", missing.name, missing.reason));
    return lines;
  }
  std::unique_ptr<Stage> stage(const Case& c, int place) override;
  Conversion conversion(const GemmProblem& from, const GemmProblem& to, int threads) override {
    const auto made = std::make_shared<const BatchConversion>(from, to, threads);
    return {[made](const Operands& x, const Operands& y) { made->in(x, y); },
            [made](const Operands& x, const Operands& y) { made->out(x, y); }};
  }
  std::string device() const override { return cpu_info().device; }
  std::vector<std::string> hardware_counts(const Case& c) override;

  peers::PeerSearch search;
  HostEnergy energy;
  Arena arenas[2];
};

// The operands in one stored layout, with the check for it.
struct Stored {
  OperandSet set;
  std::vector<Operands> batches{};
  std::unique_ptr<SampledCheck> check{};
};

// Describes every problem individually; the descriptions are made beforehand, as a caller would do.
BatchCall items_call(Context& context, const Case& c, const GemmOptions& options,
                     const std::vector<Operands>& batches) {
  return dispatch(c.problem.dtype, [&]<class T>() -> BatchCall {
    const GemmProblem& p = c.problem;
    const auto items = std::make_shared<std::vector<GemmItem<T>>>();
    items->reserve(batches.size() * static_cast<std::size_t>(p.batch_count));
    for (const Operands& o : batches)
      for (std::int64_t i = 0; i < p.batch_count; ++i)
        items->push_back({p.op_a, p.op_b, p.m, p.n, p.k, value_from<T>(c.alpha, 0), addresses<T>(o.a)[i],
                          p.lda, addresses<T>(o.b)[i], p.ldb, value_from<T>(c.beta, 0),
                          static_cast<T* const*>(o.c)[i], p.ldc});
    return [&context, items, options, count = p.batch_count](std::int64_t batch) {
      gemm_variable<T>(
          context, std::span<const GemmItem<T>>(items->data() + batch * count, std::size_t(count)), options);
    };
  });
}

class HostStage : public Stage {
 public:
  HostStage(Host& host, Arena& arena, const Case& c) : host_(host), arena_(arena), case_(c) {
    batches_ = batches_for(c.problem, c.problem.residency, c.threads);
    if (!c.hot() && c.numa.empty()) {
      const double bytes = std::max(1.0, footprint_bytes(c.problem));
      batches_per_turn_ = std::clamp<std::int64_t>(std::int64_t(turn_bytes / bytes), 1, batches_);
      batches_ = (batches_ + batches_per_turn_ - 1) / batches_per_turn_ * batches_per_turn_;
    }
    if (c.numa.empty()) reserve();
    stored(c.problem);
    if (c.problem.arrival == Arrival::idle) isolated_.emplace();
  }

  GemmOptions options() const override {
    GemmOptions options = case_.options;
    options.threads = threads_per_call();
    return options;
  }

  Contender tested(const std::string& impl, Context& context, const GemmOptions& options) override {
    const std::shared_ptr<Stored> operands = stored(case_.problem);
    Contender one{.role = Role::tested, .impl = impl, .version = TILEWRIGHT_VERSION, .stored = case_.layout};
    const auto at = [operands = operands.get()](std::int64_t batch) -> const Operands& {
      return operands->batches[static_cast<std::size_t>(batch)];
    };
    if (case_.layout == Layout::grouped) {
      one.run = group_call<Location::host>(context, case_, options, at);
    } else if (case_.layout == Layout::variable) {
      one.run = items_call(context, case_, options, operands->batches);
    } else {
      one.plan = std::make_shared<const GemmPlan>(plan(context, case_.problem, options));
      one.run = plan_call(one.plan, case_, at);
    }
    one.check = check_of(operands, one.run);
    return one;
  }

  void add_peers(std::vector<Contender>& to, std::vector<Absence>& absences) override {
    for (const auto& peer : host_.search.found)
      if (host_.plan.wants(peer->name())) add_peer(*peer, to, absences);
  }

  void add_loops(std::vector<Contender>& to) override {
    const GemmProblem& p = case_.problem;
    if (!case_.hot())
      for (const Stream kind : stream_kinds(p.beta != Scalar::zero)) add_stream(to, Role::memory_loop, kind);
    if (p.residency == Residency::l2 && is_interleaved(p.layout))
      for (const Stream kind : {Stream::plain, Stream::prefetch}) add_stream(to, Role::l2_loop, kind);
    constexpr std::int64_t steps = 4000;
    for (const std::int64_t bits : {std::int64_t{256}, std::int64_t{512}}) {
      if (bits > widest_vector_bits()) continue;
      Contender loop{
          .role = Role::compute_loop, .impl = "multiply_add", .variant = fmt::format("{}-bit", bits)};
      loop.work = run_multiply_adds(p.dtype, bits, steps) * case_.threads;  // all threads run it concurrently
      loop.run = [dtype = p.dtype, bits](std::int64_t) { run_multiply_adds(dtype, bits, steps); };
      to.push_back(std::move(loop));
    }
  }

  double turn(Contender& one) override {
    if (isolated_ && !one.is_loop()) return isolated_->time(stored_.front()->set, one.run, 0);
    if (!case_.hot() && one.role != Role::compute_loop) return cold_turn(one);
    if (one.runs == 0) one.runs = calibrate(one);
    hot_loop(one, warming_runs(one));  // warms its code, clock and data before the clock starts
    return hot_loop(one, one.runs);
  }

  // With hot operands, each thread runs on its own batch, and a run is all of them.
  void measure_energy(Contender& one) override {
    if (isolated_) return;  // meters see the gaps too
    host_.energy.measure(one, [&] {
      turn(one);
      return case_.hot() ? double(one.runs + warming_runs(one)) : double(batches_per_turn_);
    });
  }

  RoundRules rules() const override {
    RoundRules rules;
    rules.rounds = host_.plan.repetitions;
    rules.screening = std::min(rules.screening, rules.rounds);
    return rules;
  }
  double bytes() const override { return tilewright::bytes(case_.problem); }
  std::int64_t batches() const override { return batches_; }
  Operands batch(std::int64_t index) const override { return stored_.front()->batches[std::size_t(index)]; }
  Accuracy check(const std::function<void()>& run) override {
    return stored(case_.problem)->check->check(run);
  }

  void tell(const std::vector<Contender>& timed, CaseResult& result) const override {
    result.metrics["clock"] = isolated_ ? "wall" : clock_name(case_.threads);
    // Interleaved kernels load two operands per multiply-add, so two load ports can feed three quarters of
    // the peak.
    double l2_s = 0;
    for (const Contender& one : timed)
      if (one.role == Role::l2_loop && (l2_s == 0 || one.seconds.centre < l2_s)) l2_s = one.seconds.centre;
    if (l2_s > 0)
      result.interleaved_bound_s = std::max(result.work_flops / (0.75 * result.compute_gflops * 1e9), l2_s);
  }

 private:
  static std::int64_t warming_runs(const Contender& one) { return 1 + one.runs / 16; }
  int threads_per_call() const { return case_.hot() ? 1 : case_.threads; }

  // All sets share the arena, which must not move once the first of them exists.
  void reserve() {
    std::vector<GemmProblem> problems = {case_.problem};
    for (const auto& peer : host_.search.found)
      if (host_.plan.wants(peer->name())) problems.push_back(peer->stored(case_.problem));
    OperandSet::Extent most;
    for (const GemmProblem& problem : problems) {
      const OperandSet::Extent extent = OperandSet::extent(problem, batches_);
      most.input_bytes = std::max(most.input_bytes, extent.input_bytes);
      most.output_bytes = std::max(most.output_bytes, extent.output_bytes);
    }
    arena_.prepare(most.input_bytes, most.output_bytes, case_.problem.dtype, case_.data);
  }

  std::shared_ptr<Stored> stored(const GemmProblem& problem) {
    for (const auto& known : stored_)
      if (known->set.problem() == problem) return known;
    OperandSet set = case_.numa.empty()
                         ? OperandSet(arena_, problem, batches_, case_.data, case_.pointer_order)
                         : OperandSet(placement_of(case_.numa), case_.threads, problem, batches_, case_.data,
                                      case_.pointer_order);
    auto made = std::make_shared<Stored>(Stored{std::move(set)});
    for (std::int64_t batch = 0; batch < batches_; ++batch) made->batches.push_back(made->set.batch(batch));
    made->check = std::make_unique<SampledCheck>(problem, made->batches.front(), case_.alpha, case_.beta);
    stored_.push_back(made);
    return made;
  }

  static std::function<Accuracy()> check_of(std::shared_ptr<Stored> operands, BatchCall run) {
    return [operands = std::move(operands), run = std::move(run)] {
      return operands->check->check([&] { run(0); });
    };
  }

  void add_peer(const peers::Peer& peer, std::vector<Contender>& to, std::vector<Absence>& absences) {
    peers::PeerCase request;
    request.problem = peer.stored(case_.problem);
    request.alpha = case_.alpha;
    request.beta = case_.beta;
    request.threads = threads_per_call();
    request.callers = case_.hot() ? case_.threads : 1;
    peers::PeerOffer offer = peer.prepare(request);
    if (offer.variants.empty()) absences.push_back({peer.name(), offer.declined});
    const bool strided = is_interleaved(case_.problem.layout) && !is_interleaved(request.problem.layout);
    for (peers::PeerVariant& variant : offer.variants) {
      const std::shared_ptr<Stored> operands = stored(request.problem);
      Contender one{.role = strided ? Role::strided_peer : Role::peer,
                    .impl = peer.name(),
                    .version = peer.version(),
                    .variant = variant.name,
                    .stored = request.problem.layout};
      one.run = [operands, run = std::move(variant.run)](std::int64_t index) {
        run(operands->batches[static_cast<std::size_t>(index)]);
      };
      one.check = check_of(operands, one.run);
      to.push_back(std::move(one));
    }
  }

  // With cold operands, the loop makes one pass over all batches of the sample: small batches must not cost
  // the ceiling a call each.
  void add_stream(std::vector<Contender>& to, Role role, Stream kind) {
    Contender loop{.role = role, .impl = "stream", .variant = std::string(to_string(kind))};
    loop.work = bytes();
    const std::int64_t at_once = case_.hot() ? 1 : batches_per_turn_;
    loop.run = [operands = stored(case_.problem), kind, at_once,
                threads = threads_per_call()](std::int64_t index) {
      if (index % at_once == 0) stream(operands->set.streams(index, at_once), kind, threads);
    };
    to.push_back(std::move(loop));
  }

  // Runs the next batches of the ring: it is a whole ring since any contender touched them.
  double cold_turn(const Contender& one) {
    if (position_ + batches_per_turn_ > batches_) position_ = 0;
    const std::int64_t first = position_;
    position_ += batches_per_turn_;
    const double begin = measure_seconds(case_.threads);
    for (std::int64_t b = first; b < position_; ++b) one.run(b);
    return (measure_seconds(case_.threads) - begin) / double(batches_per_turn_);
  }

  // Returns seconds from the common start to the end of the last thread.
  double hot_loop(const Contender& one, std::int64_t runs) const {
    if (case_.threads == 1) {
      const double begin = thread_cpu_seconds();
      for (std::int64_t i = 0; i < runs; ++i) one.run(0);
      return (thread_cpu_seconds() - begin) / double(runs);
    }
    double first = std::numeric_limits<double>::infinity(), last = 0;
#pragma omp parallel num_threads(case_.threads) reduction(min : first) reduction(max : last)
    {
      const int thread = omp_get_thread_num();
#pragma omp barrier
      first = wall_seconds();
      for (std::int64_t i = 0; i < runs; ++i) one.run(thread);
      last = wall_seconds();
    }
    return (last - first) / double(runs);
  }

  std::int64_t calibrate(const Contender& one) const {
    for (std::int64_t runs = 1;; runs *= 4) {
      const double seconds = hot_loop(one, runs) * double(runs);
      if (seconds >= hot_turn_s / 4)
        return std::max<std::int64_t>(1, std::llround(double(runs) * hot_turn_s / seconds));
    }
  }

  Host& host_;
  Arena& arena_;
  Case case_;
  std::int64_t batches_ = 1, batches_per_turn_ = 1, position_ = 0;
  std::vector<std::shared_ptr<Stored>> stored_;
  std::optional<IsolatedCalls> isolated_;  // empty for calls back to back
};

std::unique_ptr<Stage> Host::stage(const Case& c, int place) {
  return std::make_unique<HostStage>(*this, arenas[place], c);
}

// Counts on one batch and one thread.
std::vector<std::string> Host::hardware_counts(const Case& c) {
  const HardwareCounters counters;
  if (!counters.unavailable().empty())
    return {fmt::format("hardware counters: none ({})", counters.unavailable())};
  // Enough to make the cost of opening and closing the counters negligible.
  constexpr double counted_problems = 200000;
  HostStage on_one(*this, arenas[0], c);
  GemmOptions options = on_one.options();
  options.threads = 1;
  const Contender tested = on_one.tested("tilewright", context, options);
  const double count = double(c.problem.batch_count);
  const auto runs = static_cast<std::int64_t>(counted_problems / count) + 1;
  tested.run(0);
  const auto readings = counters.measure([&] {
    for (std::int64_t i = 0; i < runs; ++i) tested.run(0);
  });
  std::string line = "hardware, per problem:";
  for (const CounterReading& reading : readings)
    line += fmt::format(" {} {:.1f}", reading.name, reading.value / (count * double(runs)));
  return {line};
}

}  // namespace

std::unique_ptr<Machine> host_machine(const Plan& plan) { return std::make_unique<Host>(plan); }

std::unique_ptr<Machine> machine_for(const Plan& plan) {
  return plan.on_device() ? gpu_machine(plan) : host_machine(plan);
}

std::vector<std::string> gpu_peer_names(const std::string& family) {
  if (family == "gemm") return {"cublas", "cublas_tuned"};
  return {"cublas_strided", "cublas_pointer", "cublas_grouped"};
}

}  // namespace tilewright::bench
