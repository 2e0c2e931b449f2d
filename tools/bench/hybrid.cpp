// The family hybrid: products and batches of host operands on CPU and GPUs, measured as the paper validates
// its models (Bernabe 2014, section 4 and Table 1): the CPU's columns by each method of choosing them, with
// their times against the exhaustive optimum, predicted against measured, and peers in the same rounds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "bench/bounds.hpp"
#include "bench/calls.hpp"
#include "bench/contender.hpp"
#include "bench/family.hpp"
#include "bench/gpu_parts.hpp"
#include "bench/machine.hpp"
#include "bench/provenance.hpp"
#include "bench/report.hpp"
#include "bench/simulated_gpu.hpp"
#include "core/dispatch.hpp"
#include "core/quantity.hpp"
#include "gemm/operand.hpp"
#include "gemm/plan.hpp"
#include "measure/buffers.hpp"
#include "measure/clock.hpp"
#include "people/refusal.hpp"
#include "people/table.hpp"
#include "tune/calibrate/machine.hpp"

namespace tilewright::bench {
namespace {

using nlohmann::json;

// A, B and C of one case, in memory of one kind.
class HybridOperands {
 public:
  HybridOperands(const Case& c, const std::string& memory) : dtype_(c.problem.dtype) {
    const GemmProblem& p = c.problem;
    const OperandLayout layouts[] = {layout_a(p), layout_b(p), layout_c(p)};
    for (int i = 0; i < 3; ++i) {
      const OperandLayout& l = layouts[i];
      const std::int64_t matrix = l.ld * l.cols, steps = (p.batch_count - 1) / problems_per_step(p);
      const std::int64_t step = p.layout == Layout::pointer ? matrix : l.step;
      const std::int64_t elements = steps * step + (is_interleaved(p) ? step : matrix);
      bytes_[i] = elements * size_bytes(p.dtype);
      memory_[i] = host_memory(memory, bytes_[i]);
      fill(memory_[i].get(), elements, p.dtype, c.data, std::uint64_t(i + 1));
      for (std::int64_t at = 0; p.layout == Layout::pointer && at < p.batch_count; ++at)
        pointers_[i].push_back(static_cast<char*>(memory_[i].get()) + at * matrix * size_bytes(p.dtype));
    }
    const auto address = [&](int i) -> void* {
      return pointers_[i].empty() ? memory_[i].get() : pointers_[i].data();
    };
    operands_.a = address(0), operands_.b = address(1), operands_.c = address(2);
    dispatch(dtype_, [&]<class T>() {
      const T scalars[] = {value_from<T>(c.alpha, 0), value_from<T>(c.beta, 0)};
      std::memcpy(scalars_, scalars, sizeof scalars);
      operands_.alpha = scalars_, operands_.beta = scalars_ + sizeof(T);
    });
  }
  const Operands& operands() const { return operands_; }
  void renew_c() { fill(memory_[2].get(), bytes_[2] / size_bytes(dtype_), dtype_, Data::uniform, 3); }
  const void* c_data() const { return memory_[2].get(); }
  std::int64_t c_bytes() const { return bytes_[2]; }

 private:
  DType dtype_;
  std::int64_t bytes_[3] = {};
  std::shared_ptr<void> memory_[3];
  std::vector<void*> pointers_[3];  // for a pointer batch
  alignas(16) unsigned char scalars_[32] = {};
  Operands operands_;
};

// Returns the largest difference of two results C, as they lie in memory, over the largest that rounding
// explains; for a large batch, samples some problems.
template <class T>
double difference(const GemmProblem& problem, const void* x, const void* y) {
  constexpr std::int64_t most_problems = 4096;
  GemmProblem p = problem;
  if (p.layout == Layout::pointer) p.layout = Layout::strided, p.stride_c = p.ldc * p.n;
  const OperandLayout layout = layout_c(p);
  const std::int64_t every = (p.batch_count - 1) / most_problems + 1;
  const auto eps = double(std::numeric_limits<decltype(std::abs(T()))>::epsilon());
  const double bound = 4 * (double(p.k) + 4) * eps;
  double worst = 0;
  for (std::int64_t at = 0; at < p.batch_count; at += every) {
    const Matrix<const T> first = matrix_of<const T>(p, layout, x, at);
    const Matrix<const T> second = matrix_of<const T>(p, layout, y, at);
    for (std::int64_t j = 0; j < p.n; ++j)
      for (std::int64_t i = 0; i < p.m; ++i) {
        const double off =
            double(std::abs(first(i, j) - second(i, j))) / (1 + double(std::abs(second(i, j))));
        worst = std::isnan(off) ? std::numeric_limits<double>::infinity() : std::max(worst, off / bound);
      }
  }
  return worst;
}

struct Variant {
  const char* name;
  Target target;
  SplitRule split;
};
constexpr Variant variants[] = {{"automatic", Target::automatic, SplitRule::model},
                                {"gpu", Target::gpu, SplitRule::model},
                                {"model", Target::hybrid, SplitRule::model},
                                {"guided", Target::hybrid, SplitRule::guided},
                                {"exhaustive", Target::hybrid, SplitRule::exhaustive}};

const people::Table& hybrid_table() {
  static const people::Table table(
      "case 26< | memory 8< | who 10< | variant 11< | n_cpu 6 | time 8 | "
      "predicted 9 | deviation 9 | bound 5");
  return table;
}

// Returns the GPU that takes the place of the machine's, if one is wanted.
SimulatedGpu simulated_of(const Plan& plan) {
  const auto* gpu = std::any_cast<SimulatedGpu>(&plan.own);
  return gpu == nullptr ? SimulatedGpu{} : *gpu;
}

class HybridFamily : public Family {
 public:
  explicit HybridFamily(const Plan& plan)
      : plan_(plan), simulated_(simulated_of(plan)), context_(ContextOptions{.notices = false}) {
    if (simulated_.is_wanted()) {
      checking_ = std::make_unique<Context>(ContextOptions{.notices = false});
      simulate_gpu(context_, simulated_, true);
      simulate_gpu(*checking_, simulated_, false);
      return;
    }
    if (!plan.cases.empty()) gpus_ = plan.cases.front().options.gpus;
    peers_ = hybrid_peers(gpus_, why_no_gpu_);
    if (peers_) return;
    const auto refuse = [&](const char* flag, const std::string& value) {
      not_supported(flag, "{} = '{}' needs a GPU: {}", flag, value, why_no_gpu_);
    };
    for (const std::string& variant : plan.ways)
      if (variant != "automatic") refuse("--ways", variant);
    if (plan.memories == std::vector<std::string>{"pinned"}) refuse("--memory", "pinned");
  }

  std::vector<std::string> head() override {
    std::vector<std::string> lines;
    if (!has_gpu()) lines.push_back("no GPU: " + why_no_gpu_);
    if (checking_) lines.push_back("a simulated GPU: " + simulated_.text());
    lines.push_back(hybrid_table().head());
    return lines;
  }

  CaseOutput measure(const Case& c) override {
    CaseOutput output;
    for (const std::string& memory : plan_.memories) {
      if (memory == "pinned" && !has_gpu()) {
        output.lines.push_back(fmt::format("{} pinned: no GPU: {}", case_text(c), why_no_gpu_));
        continue;
      }
      measure(c, memory, output);
    }
    return output;
  }

  CaseOutput finish() override;

 private:
  bool has_gpu() const { return checking_ != nullptr || bool(peers_); }

  void measure(const Case& c, const std::string& memory, CaseOutput& output) {
    HybridOperands operands(c, checking_ ? "pageable" : memory);  // all memory counts as pinned for it
    checks_.clear();
    std::vector<Contender> all;
    add_ours(c, operands, all, output);
    add_peers(c, operands, all, output);
    check(c, operands, all, output);
    hold_rounds(
        all,
        [this](Contender& one) {
          return energy_.watch(one, has_gpu(), [&] {
            const double begin = wall_seconds();
            one.run(0);
            return wall_seconds() - begin;
          });
        },
        rules_of_long_turns(plan_.repetitions));
    tell(c, memory, all, output);
  }

  void add_one(const Case& c, HybridOperands& operands, const char* impl, const char* what, Role role,
               const GemmOptions& options, std::vector<Contender>& all, CaseOutput& output) {
    try {
      Contender one{.role = role, .impl = impl, .variant = what};
      one.plan = std::make_shared<const GemmPlan>(plan(context_, c.problem, options));
      one.run =
          plan_call(one.plan, c, [o = operands.operands()](std::int64_t) -> const Operands& { return o; });
      one.version = role == Role::peer ? Access::impl(*one.plan).runner->library() : TILEWRIGHT_VERSION;
      if (checking_ && role == Role::tested) add_check(c, operands, one.variant, options);
      all.push_back(std::move(one));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::out_of_memory) throw;
      output.lines.push_back(fmt::format("{} {}: {}", case_text(c), what, error.what()));
    }
  }

  // A simulated GPU that keeps time multiplies nothing: its results are checked by the same calls on one that
  // multiplies, by shares that are not searched for.
  void add_check(const Case& c, HybridOperands& operands, const std::string& variant, GemmOptions options) {
    options.split = SplitRule::model;
    const auto made = std::make_shared<const GemmPlan>(plan(*checking_, c.problem, options));
    checks_[variant] =
        plan_call(made, c, [o = operands.operands()](std::int64_t) -> const Operands& { return o; });
  }

  void add_ours(const Case& c, HybridOperands& operands, std::vector<Contender>& all, CaseOutput& output) {
    GemmOptions options = c.options;
    options.threads = c.threads;
    if (c.options.target != Target::automatic || c.options.split != SplitRule::model)
      add_one(c, operands, "tilewright", "asked", Role::tested, options, all, output);
    for (const Variant& variant : variants) {
      options.target = variant.target, options.split = variant.split;
      options.cpu_share.reset();
      if (wants(variant) && (has_gpu() || variant.target == Target::automatic))
        add_one(c, operands, "tilewright", variant.name, Role::tested, options, all, output);
    }
    if (!plan_.wants("openblas")) return;
    GemmOptions cpu;
    cpu.threads = c.threads, cpu.target = Target::cpu;
    if (is_batch(c)) return add_one(c, operands, "cpu", "CPU only", Role::peer, cpu, all, output);
    cpu.candidate = "host_blas";
    add_one(c, operands, "openblas", "CPU only", Role::peer, cpu, all, output);
  }

  static bool is_batch(const Case& c) { return c.problem.layout != Layout::single; }

  bool wants(const Variant& variant) const {
    return plan_.ways.empty() ||
           std::find(plan_.ways.begin(), plan_.ways.end(), variant.name) != plan_.ways.end();
  }

  void add_peers(const Case& c, HybridOperands& operands, std::vector<Contender>& all, CaseOutput& output) {
    if (!peers_) return;
    std::vector<std::string> absent;
    for (auto& peer : peers_.of(c.problem, absent)) {
      if (!plan_.wants(peer.impl)) continue;
      Contender one{.role = Role::peer, .impl = peer.impl, .version = peer.version, .variant = peer.variant};
      one.run = [run = std::move(peer.run), o = operands.operands()](std::int64_t) { run(o); };
      all.push_back(std::move(one));
    }
    for (const std::string& line : absent) output.lines.push_back(fmt::format("{} {}", case_text(c), line));
  }

  // Runs each contender once from the same C and compares it with the first; searches for a split happen
  // here.
  void check(const Case& c, HybridOperands& operands, std::vector<Contender>& all, CaseOutput& output) {
    std::vector<std::byte> first;
    const auto* at = static_cast<const std::byte*>(operands.c_data());
    std::erase_if(all, [&](const Contender& one) {
      operands.renew_c();
      try {
        one.run(0);
        if (const auto check = checks_.find(one.variant); check != checks_.end()) {
          operands.renew_c();
          check->second(0);
        }
      } catch (const Error& error) {
        output.lines.push_back(
            fmt::format("{} {} {}: {}", case_text(c), one.impl, one.variant, error.what()));
        return true;
      }
      if (first.empty()) {
        first.assign(at, at + operands.c_bytes());
        return false;
      }
      const double off =
          dispatch(c.problem.dtype, [&]<class T>() { return difference<T>(c.problem, at, first.data()); });
      if (off <= 1) return false;
      output.lines.push_back(fmt::format("{} {} {}: C differs by {:.3g} of what rounding explains",
                                         case_text(c), one.impl, one.variant, off));
      if (output.failure.empty()) output.failure = output.lines.back();
      return true;
    });
  }

  void tell(const Case& c, const std::string& memory, const std::vector<Contender>& all, CaseOutput& output);
  json row_of(const Case& c, const std::string& memory, const Contender& one, const HybridBound& bound) const;

  HybridBound bound_of_case(const Case& c) {
    if (!peers_) return {};
    if (machine_ == nullptr) {
      std::optional<std::vector<int>> asked;
      if (!gpus_.empty()) asked = gpus_;
      machine_ = open_machine(context_, asked);
    }
    return measure_hybrid_bound(*machine_, c.problem, int(machine_->gpus().size()));
  }

  // Figures of all cases that share the keys of a summary and a kind of memory.
  struct Group {
    json key;
    std::vector<double> deviations, prediction_errors, over_best, over_xt, shares, automatic_losses;
    std::vector<std::string> over_best_cases, shares_cases;
  };
  Group& group_of(const Case& c, const std::string& memory) {
    json key = summary_key(c);
    key["memory"] = memory;
    const auto known =
        std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) { return group.key == key; });
    if (known != groups_.end()) return *known;
    groups_.emplace_back().key = std::move(key);
    return groups_.back();
  }

  const Plan& plan_;
  SimulatedGpu simulated_;
  HostEnergy energy_;
  Context context_;
  std::unique_ptr<Context> checking_;        // with a simulated GPU that multiplies
  std::map<std::string, BatchCall> checks_;  // of a case, by variant
  std::vector<int> gpus_;
  std::string why_no_gpu_;
  HybridPeers peers_;
  std::unique_ptr<CalibrationMachine> machine_;
  std::vector<Group> groups_;
};

const Contender* named(const std::vector<Contender>& all, const std::string& variant) {
  for (const Contender& one : all)
    if (one.role == Role::tested && one.variant == variant) return &one;
  return nullptr;
}

const Contender* best_of(const std::vector<Contender>& all, const std::string& impl) {
  const Contender* best = nullptr;
  for (const Contender& one : all)
    if (one.role == Role::peer && (impl.empty() || one.impl == impl) &&
        (best == nullptr || one.seconds.centre < best->seconds.centre))
      best = &one;
  return best;
}

json HybridFamily::row_of(const Case& c, const std::string& memory, const Contender& one,
                          const HybridBound& bound) const {
  json row = measured_row(c, one.impl, one.seconds);
  row["memory"] = memory;
  row["impl_version"] = one.version;
  row["gflops"] = flops(c.problem) / one.seconds.centre * 1e-9;
  row["gpus"] = machine_ == nullptr ? int(checking_ != nullptr) : int(machine_->gpus().size());
  if (checking_) row["simulated"] = simulated_.text();
  if (bound.seconds() > 0) {
    row["transfer_s"] = bound.transfer_s, row["compute_s"] = bound.compute_s;
    row["bound_share"] = bound.seconds() / one.seconds.centre;
    row["bound_gflops"] = row["ceiling"] = flops(c.problem) / bound.seconds() * 1e-9;
    row["bound_kind"] = bound.transfer_s > bound.compute_s ? "transfer" : "compute";
  }
  row["metrics"] = {{"variant", one.variant}};
  if (one.role == Role::tested) {
    const json run = Access::impl(*one.plan).runner->last_run();
    // A product that ran on the CPU alone has no parts, and one that was not shared has null for some.
    const auto part = [&](const char* key, const json& otherwise) {
      return run.is_object() && run.contains(key) && !run[key].is_null() ? run[key] : otherwise;
    };
    row["metrics"]["candidate"] = Access::impl(*one.plan).candidate;
    row["cpu_share"] = part("cpu_share", 1.0);
    row["predicted_s"] = part("predicted_s", nullptr);
    row["metrics"]["n_cpu"] = part("cpu_count", is_batch(c) ? c.problem.batch_count : c.problem.n);
    row["metrics"]["run"] = run;
  }
  add_energy(row, one, flops(c.problem));
  add_shared_keys(row);
  add_provenance(row);
  return row;
}

void HybridFamily::tell(const Case& c, const std::string& memory, const std::vector<Contender>& all,
                        CaseOutput& output) {
  const HybridBound bound = bound_of_case(c);
  const Contender* optimum = named(all, "exhaustive");
  Group& group = group_of(c, memory);
  for (const Contender& one : all) {
    json row = row_of(c, memory, one, bound);
    std::string deviation, predicted;
    if (optimum != nullptr && one.role == Role::tested) {
      const double off = one.seconds.centre / optimum->seconds.centre - 1;
      row["metrics"]["deviation"] = off;
      deviation = fmt::format("{:.1f} %", 100 * off);
      if (one.variant == "model") group.deviations.push_back(off);
    }
    if (row["predicted_s"].is_number()) {
      const double seconds = row["predicted_s"];
      predicted = seconds_text(seconds);
      if (one.variant == "model")
        group.prediction_errors.push_back(std::abs(seconds / one.seconds.centre - 1));
    }
    const std::string n_cpu = row["metrics"].contains("n_cpu") ? row["metrics"]["n_cpu"].dump() : "";
    const std::string share = row["bound_share"].is_number() ? share_text(row["bound_share"]) : "";
    output.lines.push_back(
        hybrid_table().row({case_text(c), memory, one.impl, one.variant, n_cpu,
                            seconds_text(one.seconds.centre), predicted, deviation, share}));
    output.rows.push_back(std::move(row));
  }
  const Contender* automatic = named(all, "automatic");
  if (automatic == nullptr) return;
  output.seconds = automatic->seconds.centre;
  if (const Contender* peer = best_of(all, "")) {
    group.over_best.push_back(peer->seconds.centre / automatic->seconds.centre);
    group.over_best_cases.push_back(problem_text(c));
  }
  if (bound.seconds() > 0) {
    group.shares.push_back(bound.seconds() / automatic->seconds.centre);
    group.shares_cases.push_back(problem_text(c));
  }
  if (const Contender* xt = best_of(all, "cublasxt"))
    group.over_xt.push_back(xt->seconds.centre / automatic->seconds.centre);
  double best = automatic->seconds.centre;
  for (const char* variant : {"gpu", "model"})
    if (const Contender* one = named(all, variant)) best = std::min(best, one->seconds.centre);
  const char* const host = is_batch(c) ? "cpu" : "openblas";
  if (const Contender* cpu = best_of(all, host)) best = std::min(best, cpu->seconds.centre);
  group.automatic_losses.push_back(automatic->seconds.centre / best - 1);
}

CaseOutput HybridFamily::finish() {
  CaseOutput output;
  for (const Group& group : groups_) {
    const auto ratio = [](const std::vector<double>& values) {
      return values.empty() ? json() : json(geometric_mean(values));
    };
    std::int64_t near = 0;
    for (const double loss : group.automatic_losses) near += loss <= 0.05;
    json summary = group.key;
    summary.update(
        {{"summary", true},
         {"ratio_cublasxt_geomean", ratio(group.over_xt)},
         {"model_deviation", mean_and_worst(group.deviations)},
         {"prediction_error", mean_and_worst(group.prediction_errors)},
         {"automatic_within_5_percent", group.automatic_losses.empty()
                                            ? json()
                                            : json(double(near) / double(group.automatic_losses.size()))}});
    add_statistics(summary, "ratio", group.over_best, group.over_best_cases);
    add_statistics(summary, "bound_share", group.shares, group.shares_cases);
    std::string line = summary_line(summary);
    if (!group.deviations.empty())
      line += fmt::format("; deviation of the model from the optimum: {}",
                          percent_text(summary["model_deviation"]));
    if (!group.prediction_errors.empty())
      line += fmt::format("; error of its predictions: {}", percent_text(summary["prediction_error"]));
    if (!group.automatic_losses.empty())
      line +=
          fmt::format("; automatic is within 5 % of the best in {} of {} {}", near,
                      group.automatic_losses.size(), group.automatic_losses.size() == 1 ? "case" : "cases");
    output.lines.push_back("");
    output.lines.push_back(line);
    output.rows.push_back(std::move(summary));
  }
  return output;
}

}  // namespace

std::vector<std::string> hybrid_variants() {
  std::vector<std::string> names;
  for (const Variant& variant : variants) names.emplace_back(variant.name);
  return names;
}

std::unique_ptr<Family> hybrid_family(const Plan& plan) { return std::make_unique<HybridFamily>(plan); }

}  // namespace tilewright::bench
