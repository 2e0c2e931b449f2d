// The family overhead: the cost of a multiplication besides multiplying. Measures generating a kernel,
// calling it through a plan, calling the API, and LIBXSMM's dispatch and call for the same single problem,
// all hot and interleaved; and, last, launches on a GPU and lookups in a large wisdom.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "bench/calls.hpp"
#include "bench/family.hpp"
#include "bench/gpu_parts.hpp"
#include "bench/machine.hpp"
#include "bench/plans.hpp"
#include "bench/provenance.hpp"
#include "bench/report.hpp"
#include "core/build_info.hpp"
#include "core/quantity.hpp"
#include "device/cpu.hpp"
#include "gemm/context_impl.hpp"
#include "measure/clock.hpp"
#include "peers/peer.hpp"
#include "people/table.hpp"
#include "tilewright/gemm.hpp"
#include "wisdom/store.hpp"

namespace tilewright::bench {
namespace {

using nlohmann::json;

// One problem in L1, the smallest call of a user.
Case single_problem(const Case& c) {
  Case one = c;
  one.problem.layout = one.layout = Layout::single;
  one.problem.batch_count = 1;
  one.problem.block = 0;
  one.problem.stride_a = one.problem.stride_b = one.problem.stride_c = 0;
  one.problem.residency = one.options.residency = Residency::l1;
  one.problem = packed(one.problem);
  one.threads = 1;
  return one;
}

BatchCall api_call(Context& context, const Case& one, const GemmOptions& options, const Operands& o) {
  return dispatch(one.problem.dtype, [&]<class T>() -> BatchCall {
    const GemmProblem& p = one.problem;
    const T alpha = value_from<T>(one.alpha, 0), beta = value_from<T>(one.beta, 0);
    const MatrixView<const T> a{static_cast<const T*>(o.a), p.a_rows(), p.a_cols(), p.lda};
    const MatrixView<const T> b{static_cast<const T*>(o.b), p.b_rows(), p.b_cols(), p.ldb};
    const MatrixView<T> c{static_cast<T*>(o.c), p.m, p.n, p.ldc};
    return [&context, p, alpha, a, b, beta, c, options](std::int64_t) {
      gemm<T>(context, p.op_a, p.op_b, alpha, a, b, beta, c, options);
    };
  });
}

// The cost of wisdom for a program whose user has a large database: opening a Context, the first lookups,
// plans made again; wisdom_index_test counts what is read for them.
struct WisdomCost {
  std::string what;
  Estimate seconds;
  double least_s = 0;  // least of all samples: the cost without disturbance
};

constexpr int largest_size = 37;
constexpr int rounds = 5, lookups = 60, repetitions = 1000;

GemmProblem problem_of(std::int64_t m, std::int64_t n, std::int64_t k, Scalar beta = Scalar::zero) {
  GemmProblem p;
  p.m = m, p.n = n, p.k = k, p.beta = beta;
  p.layout = Layout::strided;
  p.residency = Residency::cold;
  p.batch_count = 1000;
  return packed(p);
}

WisdomRecord record_of(const GemmProblem& problem, int nr) {
  GemmSmallCpuConfig config;
  config.nr = nr;
  WisdomRecord record;
  record.family = "gemm_small_cpu";
  record.problem = to_string(problem);
  record.config = to_json(config);
  record.device = cpu_info().device;
  record.source_hash = gemm_small_cpu_source_hash;
  record.compiler = build_compiler;
  record.seconds = 1e-6, record.seconds_low = 0.9e-6, record.seconds_high = 1.1e-6;
  record.samples = 11;
  return record;
}

// Adds every shape from 2 up, with and without reading C.
void fill(const std::string& file, std::int64_t record_count) {
  WisdomStore store(file, sqlite::Mode::write);
  store.at_once([&] {
    std::int64_t made = 0;
    for (int m = 2; made < record_count; ++m)
      for (int n = 2; n <= largest_size; ++n)
        for (int k = 2; k <= largest_size && made < record_count; ++k)
          for (const Scalar beta : {Scalar::zero, Scalar::one})
            store.put(record_of(problem_of(m, n, k, beta), 1 + int(made++ % 30)));
  });
}

double time_of(const std::function<void()>& work) {
  const double begin = wall_seconds();
  work();
  return wall_seconds() - begin;
}

// Makes a database of `record_count` records in a temporary folder, as dense as shapes can lie, measures on
// the calling thread by the wall clock and removes it.
std::vector<WisdomCost> measure_wisdom(std::int64_t record_count) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("tilewright_bench_{}", getpid());
  struct Removal {
    std::filesystem::path folder;
    ~Removal() { std::filesystem::remove_all(folder); }
  } const removal{folder};
  const std::string file = (folder / "wisdom.sqlite").string();
  fill(file, record_count);
  std::vector<double> opening, very_first, exact, near, inside, none, again;
  const ContextOptions options{.cpu = "portable", .wisdom = file, .notices = false};
  for (int round = 0; round < rounds; ++round) {
    opening.push_back(time_of([&] { Context context(options); }));
    const Wisdom wisdom({file}, cpu_info().device);
    const auto lookup = [&](const GemmProblem& problem, std::vector<double>& seconds) {
      seconds.push_back(time_of([&] {
        (void)wisdom.offer({"gemm_small_cpu", to_string(Isa::portable), problem},
                           [](const auto&) { return true; });
      }));
    };
    lookup(problem_of(9, 9, 9 + round), very_first);
    for (int i = 0; i < lookups; ++i) {
      const int spread = (i * 7 + round * 11) % 34;
      lookup(problem_of(3 + i % 34, 2 + spread, 2 + (spread * 5) % 35), exact);
      lookup(problem_of(2 + i % 36, largest_size + 1 + spread / 2, 2 + spread), near);
      GemmProblem pointers = problem_of(2 + i % 36, 2 + spread, 2 + (spread * 5) % 35);
      pointers.layout = Layout::pointer;
      pointers.stride_a = pointers.stride_b = pointers.stride_c = 0;
      lookup(pointers, inside);
      lookup(problem_of(2000, 3000, 2 + i), none);
    }
    Context context(options);
    const GemmProblem repeated = problem_of(8, 8, 8);
    (void)plan(context, repeated);
    again.push_back(time_of([&] {
                      for (int i = 0; i < repetitions; ++i) (void)plan(context, repeated);
                    }) /
                    repetitions);
  }
  const auto cost = [](const char* what, const std::vector<double>& seconds) {
    return WisdomCost{what, estimate(seconds), *std::min_element(seconds.begin(), seconds.end())};
  };
  return {cost("context_open", opening),   cost("wisdom_open", very_first),    cost("wisdom_exact", exact),
          cost("wisdom_near_shape", near), cost("wisdom_near_inside", inside), cost("wisdom_default", none),
          cost("plan_again", again)};
}

json row_of(const json& problem, const std::string& impl, const std::string& what, const char* clock,
            const Estimate& seconds) {
  json object = {{"family", "overhead"}, {"problem", problem}, {"impl", impl}};
  if (impl == "tilewright") object["impl_version"] = TILEWRIGHT_VERSION;
  object.update(seconds_keys(seconds));
  object["metrics"] = {{"what", what}, {"clock", clock}};
  add_provenance(object);
  add_no_energy(object, HostEnergy().why_none("no energy is measured of calls of nanoseconds"));
  add_missing_keys(object);
  return object;
}

const people::Table& overhead_table() {
  static const people::Table table(
      "problem 28< | generate 9 | call of a plan 14 | call of the API 15 | "
      "LIBXSMM dispatch 16");
  return table;
}

class Overhead : public Family {
 public:
  explicit Overhead(const Plan& plan) : plan_(plan), machine_(host_machine(plan)) {}

  std::vector<std::string> head() override { return {overhead_table().head()}; }

  CaseOutput measure(const Case& c) override {
    const Case one = single_problem(c);
    // Residencies and layouts do not matter here.
    if (std::find(seen_.begin(), seen_.end(), problem_text(one)) != seen_.end()) return {};
    seen_.push_back(problem_text(one));
    const auto stage = machine_->stage(one);
    std::vector<Contender> calls = {stage->tested("tilewright", machine_->context, stage->options())};
    calls[0].what = "plan_call";
    calls.push_back({.role = Role::tested, .impl = "tilewright", .what = "api_call"});
    calls[1].run = api_call(machine_->context, one, stage->options(), stage->batch(0));
    const peers::PeerCase request{one.problem, one.alpha, one.beta, 1};
    if (const peers::PeerVariant peer = peers::libxsmm_dispatch_call(request); peer.run) {
      calls.push_back({.role = Role::peer, .impl = "libxsmm", .what = "dispatch_call"});
      calls[2].run = [peer, o = stage->batch(0)](std::int64_t) { peer.run(o); };
    }
    hold_rounds(
        calls, [&](Contender& call) { return stage->turn(call); }, stage->rules());
    summary_.add(one, calls.size() > 2 ? calls[2].seconds.centre / calls[0].seconds.centre : 0, 0);
    return told_of(one, calls);
  }

  CaseOutput finish() override {
    CaseOutput output;
    tell_launches(output);
    constexpr std::int64_t record_count = 100000;
    output.lines.push_back(fmt::format("\nwisdom of {} records", record_count));
    for (const WisdomCost& cost : measure_wisdom(record_count)) {
      output.rows.push_back(row_of(nullptr, "tilewright", cost.what, "wall", cost.seconds));
      output.rows.back()["metrics"]["records"] = record_count;
      output.rows.back()["target"] = "cpu", output.rows.back()["threads"] = 1;
      output.lines.push_back(overhead_table().row({cost.what, seconds_text(cost.seconds.centre)}));
    }
    for (json& object : summary_.objects()) output.rows.push_back(std::move(object));
    return output;
  }

 private:
  CaseOutput told_of(const Case& one, const std::vector<Contender>& calls) const {
    const GemmProblem& p = one.problem;
    CaseOutput output;
    const auto add = [&](const std::string& impl, const std::string& what, const Estimate& seconds) {
      output.rows.push_back(row_of(problem_text(one), impl, what, "thread_cpu", seconds));
      json keys = case_keys(one);
      keys["family"] = "overhead";
      output.rows.back().update(keys);
    };
    std::vector<double> generations;
    for (int r = 0; r < std::max(plan_.repetitions, 5); ++r)
      if (const auto seconds = generation_seconds(*calls[0].plan)) generations.push_back(*seconds);
    std::string generated = "none";
    if (!generations.empty()) {
      const Estimate generation = estimate(generations);
      generated = seconds_text(generation.centre);
      add("tilewright", "generate", generation);
    }
    for (const Contender& call : calls) add(call.impl, call.what, call.seconds);
    output.lines.push_back(overhead_table().row(
        {fmt::format("{} {}x{}x{} b{:g}", to_string(p.dtype), p.m, p.n, p.k, one.beta), generated,
         seconds_text(calls[0].seconds.centre), seconds_text(calls[1].seconds.centre),
         calls.size() > 2 ? seconds_text(calls[2].seconds.centre) : "none"}));
    return output;
  }

  void tell_launches(CaseOutput& output) const {
    const GpuLaunchCosts costs = measure_gpu_launches(plan_.repetitions);
    if (!costs.why_none.empty()) {
      output.lines.push_back("\nno launches on a GPU: " + costs.why_none);
      return;
    }
    output.lines.push_back(fmt::format("\nlaunches on {}, time of the host", costs.device));
    for (const GpuLaunchCost& cost : costs.costs) {
      output.rows.push_back(row_of(cost.problem, cost.impl, cost.what, "wall", cost.seconds));
      output.rows.back()["device"] = costs.device;
      output.rows.back()["target"] = "gpu", output.rows.back()["location"] = "device";
      output.lines.push_back(overhead_table().row({cost.what, seconds_text(cost.seconds.centre)}));
    }
    if (!costs.why_no_blas.empty())
      output.lines.push_back("no call of cuBLAS to compare with: " + costs.why_no_blas);
  }

  const Plan& plan_;
  std::unique_ptr<Machine> machine_;
  std::vector<std::string> seen_;
  Summary summary_;  // compares a planned call with LIBXSMM's dispatch and call
};

}  // namespace

std::unique_ptr<Family> overhead_family(const Plan& plan) { return std::make_unique<Overhead>(plan); }

}  // namespace tilewright::bench
