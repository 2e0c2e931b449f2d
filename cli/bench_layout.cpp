// `bench layout`: converting strided and pointer batches to interleaved ones, multiplying there, and
// converting back, beside multiplying where the data are (Dongarra 2017, Figs. 4a and 5). From the parts
// follows how often converted data must be used before converting pays. Here the host measures; a GPU's part
// is gpu_bench_layout.cpp.
#include "bench_layout.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "bench_contenders.hpp"
#include "bench_families.hpp"
#include "bench_ours.hpp"
#include "device/cpu.hpp"
#include "gemm/layout_costs.hpp"
#include "json_lines.hpp"
#include "measure/conversion.hpp"
#include "progress.hpp"
#include "provenance.hpp"
#include "verbs.hpp"

namespace tilewright::cli {
namespace {

using nlohmann::json;

// Operands of one case twice: as the caller has them and interleaved, in arenas of their own because
// conversions write to both.
class LayoutCase {
 public:
  LayoutCase(BenchMachine& machine, Arena& interleaved_arena, const BenchCase& bench_case,
             std::int64_t batches)
      : from_case_(bench_case),
        to_case_(interleaved(bench_case)),
        from_(machine.arena, from_case_.problem, batches, bench_case.data, bench_case.pointer_order),
        to_(interleaved_arena, to_case_.problem, batches, bench_case.data),
        conversion_(from_case_.problem, to_case_.problem, threads()) {
    for (std::int64_t batch = 0; batch < batches; ++batch) {
      from_batches_.push_back(from_.batch(batch));
      to_batches_.push_back(to_.batch(batch));
    }
    GemmOptions options = bench_case.options;
    options.threads = threads();
    direct_ = prepare_ours(machine.context, from_case_, options, from_batches_);
    multiply_ = prepare_ours(machine.context, to_case_, options, to_batches_);
  }

  static BenchCase interleaved(const BenchCase& bench_case) {
    BenchCase to = bench_case;
    const std::int64_t block = to.convert_block > 0 ? to.convert_block : recommended_block(to.problem.dtype);
    to.problem = interleaved_problem(to.problem, block);
    to.layout = to.problem.layout;
    return to;
  }

  int threads() const { return from_case_.hot() ? 1 : from_case_.threads; }
  const GemmProblem& from() const { return from_case_.problem; }
  const GemmProblem& to() const { return to_case_.problem; }
  const std::vector<Operands>& from_batches() const { return from_batches_; }

  void direct(std::int64_t batch) const { direct_.run(batch); }
  void multiply(std::int64_t batch) const { multiply_.run(batch); }
  void convert_in(std::int64_t batch) const {
    conversion_.in(from_batches_[std::size_t(batch)], to_batches_[std::size_t(batch)]);
  }
  void convert_out(std::int64_t batch) const {
    conversion_.out(to_batches_[std::size_t(batch)], from_batches_[std::size_t(batch)]);
  }
  void converted(std::int64_t batch) const {
    convert_in(batch);
    multiply(batch);
    convert_out(batch);
  }

 private:
  BenchCase from_case_, to_case_;
  OperandSet from_, to_;
  BatchConversion conversion_;
  std::vector<Operands> from_batches_, to_batches_;
  Ours direct_, multiply_;
};

enum Part : std::size_t { part_in, part_out, part_direct, part_multiply, part_converted, part_count };
constexpr std::array<const char*, part_count> part_names = {"convert_in", "convert_out", "direct",
                                                            "interleaved", "converted"};

void check_converted(const LayoutCase& layout_case, const BenchCase& bench_case) {
  const SampledCheck check(layout_case.from(), layout_case.from_batches().front(), bench_case.alpha,
                           bench_case.beta);
  const Accuracy accuracy = check.check([&] { layout_case.converted(0); });
  if (!accuracy.passed())
    throw JobFailed(fmt::format("converted multiplication of {} is wrong: error {:.3g}, bound {:.3g}",
                                problem_text(bench_case), accuracy.error, accuracy.bound));
}

struct PeerEntry {
  std::string name;
  std::string version;
};

std::vector<PeerEntry> add_peers(BenchMachine& machine, const BenchPlan& plan, const BenchCase& bench_case,
                                 const LayoutCase& layout_case, std::vector<Contender>& contenders) {
  std::vector<PeerEntry> entries;
  for (const auto& peer : machine.search.found) {
    const bool wanted =
        plan.all_peers || std::find(plan.peers.begin(), plan.peers.end(), peer->name()) != plan.peers.end();
    if (!wanted || peer->stored(bench_case.problem) != bench_case.problem) continue;
    peers::PeerCase request{bench_case.problem, bench_case.alpha, bench_case.beta, layout_case.threads(),
                            bench_case.hot() ? bench_case.threads : 1};
    for (peers::PeerVariant& variant : peer->prepare(request).variants) {
      const Operands& first = layout_case.from_batches().front();
      const SampledCheck check(request.problem, first, request.alpha, request.beta);
      if (!check.check([&] { variant.run(first); }).passed()) continue;
      contenders.push_back({peer->name() + ' ' + variant.name,
                            [&layout_case, run = std::move(variant.run)](std::int64_t batch) {
                              run(layout_case.from_batches()[std::size_t(batch)]);
                            },
                            0, false});
      entries.push_back({peer->name(), peer->version()});
    }
  }
  return entries;
}

LayoutResult measure_case(BenchMachine& machine, Arena& interleaved_arena, const BenchPlan& plan,
                          const BenchCase& bench_case) {
  const std::int64_t batches =
      batches_for(bench_case.problem, bench_case.problem.residency, bench_case.threads);
  const LayoutCase layout_case(machine, interleaved_arena, bench_case, batches);
  check_converted(layout_case, bench_case);
  std::vector<Contender> contenders = {
      {part_names[part_in], [&](std::int64_t b) { layout_case.convert_in(b); }, -1, false},
      {part_names[part_out], [&](std::int64_t b) { layout_case.convert_out(b); }, -1, false},
      {part_names[part_direct], [&](std::int64_t b) { layout_case.direct(b); }, -1, false},
      {part_names[part_multiply], [&](std::int64_t b) { layout_case.multiply(b); }, -1, false},
      {part_names[part_converted], [&](std::int64_t b) { layout_case.converted(b); }, -1, false}};
  const std::vector<PeerEntry> peers = add_peers(machine, plan, bench_case, layout_case, contenders);
  TimingSchedule schedule;
  schedule.threads = bench_case.threads;
  schedule.hot = bench_case.hot();
  schedule.batches = batches;
  constexpr double turn_bytes = 24.0 * 1024 * 1024;
  if (!schedule.hot)
    schedule.batches_per_turn = std::clamp<std::int64_t>(
        std::int64_t(turn_bytes / std::max(1.0, footprint_bytes(bench_case.problem))), 1, batches);
  schedule.repetitions = plan.repetitions;
  const std::vector<Estimate> seconds = benchmark(contenders, schedule);
  LayoutResult result;
  result.bench_case = bench_case;
  for (std::size_t i = 0; i < part_count; ++i)
    result.parts.push_back({part_names[i], "tilewright", TILEWRIGHT_VERSION, seconds[i]});
  std::optional<LayoutPart> best;
  for (std::size_t i = 0; i < peers.size(); ++i)
    if (const Estimate& one = seconds[part_count + i]; !best || one.centre < best->seconds.centre)
      best = LayoutPart{part_names[part_direct], peers[i].name, peers[i].version, one};
  if (best) result.parts.push_back(*best);
  const double problems = double(bench_case.problem.batch_count);
  result.costs = layout_costs(result, layout_case.to().block,
                              (schedule.hot ? 1.0 : double(bench_case.threads)) / problems);
  return result;
}

}  // namespace

LayoutBench host_layout_bench(const BenchPlan& plan) {
  struct Host {
    BenchMachine machine;
    Arena interleaved_arena;
  };
  return {cpu_info().device, [&plan, host = std::make_shared<Host>()](const BenchCase& bench_case) {
            return measure_case(host->machine, host->interleaved_arena, plan, bench_case);
          }};
}

void bench_layout(const BenchFlags& flags, const BenchPlan& plan) {
  for (const BenchCase& c : plan.cases)
    if (c.layout != Layout::strided && c.layout != Layout::pointer)
      throw Error(
          ErrorCode::invalid_argument, "--layout",
          fmt::format("--layout = '{}': conversions start from strided or pointer", to_string(c.layout)));
  const LayoutBench bench = flags.on_gpu() ? gpu_layout_bench(plan) : host_layout_bench(plan);
  JsonLines lines(flags.json);
  lines.head({{"command", command_line()}});
  std::FILE* out = lines.people();
  fmt::print(out, "{}\n", layout_table_head());
  const std::string path = layout_costs_path(Environment::read());
  Progress progress("bench", std::int64_t(plan.cases.size()));
  std::int64_t done = 0;
  for (const BenchCase& bench_case : plan.cases) {
    progress.show(done++, problem_text(bench_case));
    const LayoutResult result = bench.measure(bench_case);
    progress.clear();
    fmt::print(out, "{}\n", layout_table_line(result));
    std::fflush(out);
    write_layout(lines, result);
    save_layout_costs(path, bench.device, {result.costs});
  }
  fmt::print(out, "kept for explain in {}\n", path);
}

}  // namespace tilewright::cli
