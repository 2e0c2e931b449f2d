// `bench layout` on a GPU (Dongarra 2017, Fig. 5b): converting a batch in device memory to interleaved
// blocks, multiplying there with and without shared memory, and converting C back, beside multiplying where
// the data are and cuBLAS there; each with its share of what streaming the same bytes would take.
#include <fmt/format.h>

#include <memory>

#include "bench_layout.hpp"
#include "gemm/device_conversion.hpp"
#include "gpu_bench_peers.hpp"
#include "gpu_case.hpp"
#include "gpu_ceiling.hpp"
#include "gpu_turns.hpp"
#include "kernel/gemm_small/gemm_small.hpp"
#include "measure/conversion.hpp"
#include "tilewright/layout.hpp"
#include "verbs.hpp"

namespace tilewright::cli {
namespace {

using nlohmann::json;

bool is_direct(GemmSmallLoad load) { return load == GemmSmallLoad::direct; }
bool is_staged(GemmSmallLoad load) { return !is_direct(load); }
using WaysIn = bool (*)(GemmSmallLoad);
// As Fig. 5b has them: BlkIntlSM and BlkIntl.
constexpr std::pair<const char*, WaysIn> memory_ways[] = {{"shared memory", is_staged},
                                                          {"no shared memory", is_direct}};

GpuOperandBytes interleaved_bytes(const GemmProblem& p) {
  const auto bytes = [&](std::int64_t rows, std::int64_t columns, std::int64_t ld) {
    return std::size_t(interleaved_elements(rows, columns, ld, p.block, p.batch_count) * size_bytes(p.dtype));
  };
  return {bytes(p.a_rows(), p.a_cols(), p.lda), bytes(p.b_rows(), p.b_cols(), p.ldb), bytes(p.m, p.n, p.ldc)};
}

// Bytes that each part must move; where matrices lie one by one, in whole sectors. Gaps below interleaved
// columns are whole rows of blocks, which nobody touches.
struct Traffic {
  Traffic(const GemmProblem& from, const GemmProblem& to) : direct(gpu_traffic(from)) {
    GemmProblem touched = to;
    touched.lda = to.a_rows(), touched.ldb = to.b_rows(), touched.ldc = to.m;
    const GpuOperandBytes stored = interleaved_bytes(touched);
    const GpuStreamMix& single = direct.mix;
    const double pointers =
        from.layout == Layout::pointer ? double(sizeof(void*)) * double(from.batch_count) : 0;
    interleaved = {double(stored.a), double(stored.b), double(stored.c), single.reads_c};
    convert_in = single.a_bytes + single.b_bytes + interleaved.a_bytes + interleaved.b_bytes + 2 * pointers;
    if (single.reads_c) convert_in += single.c_bytes + interleaved.c_bytes + pointers;
    convert_out = single.c_bytes + interleaved.c_bytes + pointers;
  }

  GpuTraffic direct;
  GpuStreamMix interleaved;
  double convert_in = 0, convert_out = 0;
};

// A copy as the streaming loops know it: as much is written as is read.
GpuStreamMix copy_mix() { return {.a_bytes = 1, .b_bytes = 1, .c_bytes = 2, .reads_c = false}; }

GemmProblem converted(const BenchCase& c) { return interleaved_problem(c.problem, c.convert_block); }

// With the config, or with what wisdom or the rule of thumb has where that is "".
std::shared_ptr<const GemmPlan> plan_of(GpuBenchMachine::Impl& machine, const BenchCase& c,
                                        const GemmProblem& problem, const std::string& config = "") {
  GemmOptions options = gpu_options(machine.plan, c);
  options.candidate = "gemm_small";
  options.config = config;
  return std::make_shared<const GemmPlan>(plan(machine.context, problem, options));
}

std::vector<std::string> promising(const GpuBenchMachine::Impl& machine, const GemmProblem& p,
                                   WaysIn wanted) {
  const auto count = std::size_t(std::max(1, machine.plan.configs));
  std::vector<std::string> configs;
  for (const auto& config : gemm_small_promising(gemm_small_shape(p, 128), p.dtype, machine.gpu.limits(),
                                                 count, p.batch_count, wanted))
    configs.push_back(to_json(config).dump());
  return configs;
}

// Compiles what all cases need, on every core. What cannot be prepared says so when its case is measured.
void prepare(GpuBenchMachine::Impl& machine) {
  const std::vector<BenchCase>& cases = machine.plan.cases;
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < cases.size(); ++i) try {
      plan_of(machine, cases[i], cases[i].problem);
      const GemmProblem to = converted(cases[i]);
      plan_of(machine, cases[i], to);
      for (const auto& [way, wanted] : memory_ways)
        for (const std::string& config : promising(machine, to, wanted))
          plan_of(machine, cases[i], to, config);
    } catch (const Error&) {
    }
}

// As they are told.
constexpr const char* part_order[] = {"convert_in", "direct", "interleaved", "convert_out", "converted"};

struct Entry : GpuContender {
  LayoutPart part;
  double bytes = 0;  // that must move; 0 where no bound is told
  GpuCeiling* ceiling = nullptr;
  std::string way;                  // of an interleaved multiplication: with shared memory or without
  std::function<void()> run_first;  // on the first batch, all that its result takes
};

class GpuLayoutRun {
 public:
  GpuLayoutRun(GpuBenchMachine::Impl& machine, GpuArena& interleaved, const BenchCase& bench_case)
      : m_(machine),
        case_(bench_case),
        to_problem_(converted(bench_case)),
        operands_(machine.arena, bench_case),
        conversion_(machine.machine, bench_case.problem, to_problem_),
        traffic_(bench_case.problem, to_problem_) {
    const GpuOperandBytes bytes = interleaved_bytes(to_problem_);
    interleaved.reserve(bytes);  // unused slots make it a little larger than the batch it is made of
    interleaved.fill(case_.problem.dtype);
    to_.emplace(interleaved, bytes);
    result_.bench_case = case_;
    add_parts();
    for (const auto& [way, wanted] : memory_ways) add_interleaved(way, wanted);
    add_known();
    add_peers();
    check_all();
  }

  LayoutResult run() {
    for (Entry& entry : entries_) turns_.screen(entry);
    add_converted();
    for (Entry& entry : entries_) entry.samples.clear();
    for (int r = 0; r < m_.plan.repetitions; ++r) {
      for (Entry& entry : entries_) entry.samples.push_back(turns_.turn(entry));
      multiplying_.turn();
      copying_.turn();
    }
    return finish();
  }

 private:
  // With the stream that everything is queued on.
  Operands from_batch(std::int64_t index) const { return on_stream(operands_.batch(index)); }
  Operands to_batch(std::int64_t index) const { return on_stream(to_->at(index)); }
  Operands on_stream(Operands o) const {
    o.stream = m_.stream.get();
    return o;
  }
  void convert_in(std::int64_t index) const { conversion_.in(from_batch(index), to_batch(index)); }
  void convert_out(std::int64_t index) const { conversion_.out(to_batch(index), from_batch(index)); }

  Entry& add(const std::string& what, std::function<void(std::int64_t)> run) {
    Entry entry;
    entry.run = std::move(run);
    entry.part.what = what, entry.part.impl = "tilewright", entry.part.version = TILEWRIGHT_VERSION;
    entries_.push_back(std::move(entry));
    return entries_.back();
  }
  void bound(Entry& entry, double bytes, GpuCeiling& ceiling) {
    entry.bytes = bytes;
    entry.ceiling = &ceiling;
  }
  // Ours by a plan, told with its config.
  Entry& add_plan(const std::string& what, std::shared_ptr<const GemmPlan> made,
                  std::function<void(std::int64_t)> run) {
    Entry& entry = add(what, std::move(run));
    entry.part.keys["config"] = made->impl().runner->config();
    entry.part.metrics["candidate"] = made->impl().candidate;
    entry.part.metrics["kernel"] = made->impl().runner->kernel();
    return entry;
  }
  void add_parts() {
    bound(add("convert_in", [this](std::int64_t b) { convert_in(b); }), traffic_.convert_in, copying_);
    bound(add("convert_out", [this](std::int64_t b) { convert_out(b); }), traffic_.convert_out, copying_);
    const auto made = plan_of(m_, case_, case_.problem);
    const auto call = gpu_call(made, case_, m_.stream.get());
    Entry& direct = add_plan("direct", made, [this, call](std::int64_t b) { call(operands_.batch(b)); });
    bound(direct, traffic_.direct.bytes, multiplying_);
    direct.run_first = [call, this] { call(operands_.batch(0)); };
  }

  // The promising configs of one way; those that do not compile or fit are left out.
  void add_interleaved(const char* way, WaysIn wanted) {
    const auto configs = promising(m_, to_problem_, wanted);
    if (configs.empty())
      result_.notes.push_back(fmt::format("no kernel with {} fits blocks of {}", way, to_problem_.block));
    for (const std::string& config : configs) try {
        add_multiplication(way, plan_of(m_, case_, to_problem_, config));
      } catch (const Error& error) {
        result_.notes.push_back(fmt::format("left out: {} ({})", config, error.what()));
      }
  }

  // What wisdom knows of such blocks takes part as well.
  void add_known() {
    const auto made = plan_of(m_, case_, to_problem_);
    if (made->impl().match == WisdomMatch::none) return;
    const auto config = from_json<GemmSmallConfig>(made->impl().runner->config());
    for (const auto& [way, wanted] : memory_ways)
      if (wanted(config.load)) add_multiplication(way, made);
  }

  void add_multiplication(const char* way, const std::shared_ptr<const GemmPlan>& made) {
    const auto call = gpu_call(made, case_, m_.stream.get());
    Entry& entry = add_plan("interleaved", made, [this, call](std::int64_t b) { call(to_->at(b)); });
    bound(entry, traffic_.interleaved.moved(), multiplying_);
    entry.way = way;
    entry.part.metrics["way"] = way;
    entry.run_first = [this, call] {
      convert_in(0);
      call(to_->at(0));
      convert_out(0);
    };
  }

  void add_peers() {
    for (const std::string& name : gpu_peer_names(case_.family)) {
      if (!m_.wanted(name) || !m_.blas) continue;
      try {
        const auto run = gpu_peer(name, *m_.blas, case_, operands_);
        Entry& entry = add("direct", run);
        entry.part.impl = name, entry.part.version = m_.blas->version();
        entry.run_first = [run] { run(0); };
        bound(entry, traffic_.direct.bytes, multiplying_);
      } catch (const Error& error) {
        result_.notes.push_back(fmt::format("left out: {} ({})", name, error.what()));
      }
    }
  }

  // Conversions are right when what they enclose is. Ours being wrong ends the run, a peer is left out.
  void check_all() {
    std::erase_if(entries_, [&](const Entry& entry) {
      if (!entry.run_first) return false;
      const bool ours = entry.part.impl == "tilewright";
      std::string wrong;
      try {
        const Accuracy accuracy = operands_.check(entry.run_first);
        if (accuracy.passed()) return false;
        wrong = accuracy.gaps_intact
                    ? fmt::format("error {:.3g} above bound {:.3g}", accuracy.error, accuracy.bound)
                    : "it writes outside C";
      } catch (const Error& error) {
        if (ours) throw;
        wrong = error.what();
      }
      if (ours)
        throw JobFailed(fmt::format("{} {} of {} by blocks of {}: {}", entry.part.what, entry.way,
                                    problem_text(case_), to_problem_.block, wrong));
      result_.notes.push_back(fmt::format("left out: {} ({})", entry.part.impl, wrong));
      return true;
    });
  }

  // The three in turn, with the multiplication that screening found fastest.
  void add_converted() {
    const Entry* best = nullptr;
    for (const Entry& entry : entries_)
      if (entry.part.what == "interleaved" && (best == nullptr || entry.samples[0] < best->samples[0]))
        best = &entry;
    if (best == nullptr)
      throw JobFailed(fmt::format("{} by blocks of {}: no kernel multiplies them", problem_text(case_),
                                  to_problem_.block));
    const auto multiply = best->run;
    const json config = best->part.keys["config"];
    Entry& entry = add("converted", [this, multiply](std::int64_t b) {
      convert_in(b);
      multiply(b);
      convert_out(b);
    });
    entry.part.keys["config"] = config;
    turns_.screen(entry);
  }

  // Of each name, and of each way to multiply interleaved blocks, the fastest.
  LayoutResult finish() {
    const double multiplying = multiplying_.best().gbytes, copying = copying_.best().gbytes;
    std::vector<const Entry*> sorted;
    for (Entry& entry : entries_) {
      LayoutPart& part = entry.part;
      part.seconds = estimate(entry.samples);
      part.metrics["clock"] = "device events";
      if (entry.ceiling != nullptr) {
        const double rate = entry.ceiling == &copying_ ? copying : multiplying;
        part.keys["bound_kind"] = "memory", part.keys["ceiling"] = rate;
        part.keys["bound_share"] = entry.bytes / (rate * 1e9) / part.seconds.centre;
        part.metrics["sector_bytes"] = entry.bytes;
      }
      sorted.push_back(&entry);
    }
    const auto rank = [](const Entry* entry) {
      const auto at = std::find(std::begin(part_order), std::end(part_order), entry->part.what);
      return std::pair(at, entry->part.seconds.centre);
    };
    std::sort(sorted.begin(), sorted.end(),
              [&](const Entry* x, const Entry* y) { return rank(x) < rank(y); });
    std::vector<std::string> seen;
    for (const Entry* entry : sorted) {
      const bool ours = entry->part.impl == "tilewright";
      const std::string kind = fmt::format("{} {} {}", entry->part.what, entry->way, ours);
      if (std::find(seen.begin(), seen.end(), kind) != seen.end()) continue;
      seen.push_back(kind);
      result_.parts.push_back(entry->part);
    }
    const json rates = {{"multiplying", multiplying_.rates()}, {"copying", copying_.rates()}};
    const json readings = m_.readings();
    for (LayoutPart& part : result_.parts) {
      part.metrics["streaming_gbs"] = rates;
      part.metrics.update(readings);
    }
    result_.notes.push_back(shares_text());
    result_.provenance = m_.provenance();
    result_.costs = layout_costs(result_, to_problem_.block, 1.0 / double(case_.problem.batch_count));
    return std::move(result_);
  }

  std::string shares_text() const {
    std::string text;
    for (const LayoutPart& part : result_.parts) {
      if (part.impl != "tilewright" || !part.keys.contains("bound_share")) continue;
      const std::string way = part.metrics.value("way", "");
      text += fmt::format("{} {}{} {:.1f} %", text.empty() ? "of the streaming bound:" : ",", part.what,
                          way.empty() ? "" : " with " + way, 100 * part.keys["bound_share"].get<double>());
    }
    return text;
  }

  GpuBenchMachine::Impl& m_;
  BenchCase case_;
  GemmProblem to_problem_;
  GpuCase operands_;
  GpuBatchConversion conversion_;
  Traffic traffic_;
  std::optional<GpuRing> to_;
  GpuTurns turns_{m_.timer, operands_.batches()};
  GpuCeiling multiplying_{m_, traffic_.interleaved}, copying_{m_, copy_mix()};
  std::vector<Entry> entries_;
  LayoutResult result_;
};

}  // namespace

LayoutBench gpu_layout_bench(const BenchPlan& plan) {
  struct Device {
    explicit Device(const BenchPlan& bench_plan)
        : machine(bench_plan), interleaved(machine.gpu, std::size_t(bench_plan.operand_bytes)) {}
    GpuBenchMachine::Impl machine;
    GpuArena interleaved;
  };
  const auto device = std::make_shared<Device>(plan);
  prepare(device->machine);
  return {device->machine.gpu.limits().name, [device](const BenchCase& bench_case) {
            return GpuLayoutRun(device->machine, device->interleaved, bench_case).run();
          }};
}

}  // namespace tilewright::cli
