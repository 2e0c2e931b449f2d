// `bench layout`: converting strided and pointer batches to interleaved ones, multiplying there, and
// converting back, beside multiplying where the data are (Dongarra 2017, Figs. 4a and 5). From the parts
// follows how often converted data must be used before converting pays.
#include <fmt/format.h>

#include <array>

#include "bench_contenders.hpp"
#include "bench_families.hpp"
#include "bench_ours.hpp"
#include "device/cpu.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/layout_costs.hpp"
#include "json_lines.hpp"
#include "kernel/layout.hpp"
#include "measure/clock.hpp"
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
    const std::int64_t block = to.problem.block > 0 ? to.problem.block : recommended_block(to.problem.dtype);
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

struct LayoutResult {
  std::array<Estimate, part_count> parts;  // seconds per batch
  std::string peer;                        // the fastest on the data where they are; "" without any
  std::string peer_version;
  Estimate peer_seconds;
  LayoutCosts costs;
};

void check_converted(const LayoutCase& layout_case, const BenchCase& bench_case) {
  const AccuracyCheck check(layout_case.from(), layout_case.from_batches().front(), bench_case.alpha,
                            bench_case.beta);
  check.restore();
  layout_case.converted(0);
  const Accuracy accuracy = check.compare();
  check.finish();
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
      const AccuracyCheck check(request.problem, layout_case.from_batches().front(), request.alpha,
                                request.beta);
      check.restore();
      variant.run(layout_case.from_batches().front());
      const bool right = check.compare().passed();
      check.finish();
      if (!right) continue;
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
  for (std::size_t i = 0; i < part_count; ++i) result.parts[i] = seconds[i];
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const Estimate& one = seconds[part_count + i];
    if (!result.peer.empty() && one.centre >= result.peer_seconds.centre) continue;
    result.peer = peers[i].name;
    result.peer_version = peers[i].version;
    result.peer_seconds = one;
  }
  const GemmProblem& p = bench_case.problem;
  const double share =
      schedule.hot ? 1.0 / double(p.batch_count) : double(bench_case.threads) / double(p.batch_count);
  result.costs = {p.dtype,
                  p.m,
                  p.n,
                  p.k,
                  p.layout,
                  layout_case.to().block,
                  p.residency,
                  share * seconds[part_in].centre,
                  share * seconds[part_out].centre,
                  share * seconds[part_direct].centre,
                  share * seconds[part_multiply].centre};
  return result;
}

void write_one(JsonLines& lines, const BenchCase& c, const std::string& impl, const std::string& version,
               const std::string& what, const Estimate& seconds) {
  json object = {
      {"family", "layout"}, {"problem", problem_text(c)}, {"impl", impl}, {"impl_version", version}};
  object["dtype"] = to_string(c.problem.dtype);
  object["m"] = c.problem.m, object["n"] = c.problem.n, object["k"] = c.problem.k;
  object["layout"] = to_string(c.layout), object["batch_count"] = c.problem.batch_count;
  object["beta"] = c.beta, object["residency"] = to_string(c.problem.residency),
  object["threads"] = c.threads;
  object["pointer_order"] = to_string(c.pointer_order);
  object["seconds"] = seconds.centre, object["seconds_low"] = seconds.low,
  object["seconds_high"] = seconds.high;
  object["samples"] = seconds.samples;
  object["gflops"] = flops(c.problem) * (c.hot() ? c.threads : 1) / seconds.centre * 1e-9;
  object["metrics"] = {{"what", what}, {"clock", clock_name(c.threads)}};
  add_provenance(object);
  lines.write(object);
}

// One object per part and peer, then the record that `explain` computes thresholds from.
void write(JsonLines& lines, const BenchCase& c, const LayoutResult& result) {
  for (std::size_t i = 0; i < part_count; ++i)
    write_one(lines, c, "tilewright", TILEWRIGHT_VERSION, part_names[i], result.parts[i]);
  if (!result.peer.empty())
    write_one(lines, c, result.peer, result.peer_version, "direct", result.peer_seconds);
  json record = to_json(result.costs);
  record["family"] = "layout";
  record["problem"] = problem_text(c);
  const auto threshold = conversion_reuse_threshold(result.costs);
  record["reuse_threshold"] = threshold ? json(*threshold) : json();
  add_provenance(record);
  lines.write(record);
}

void print(std::FILE* out, const BenchCase& c, const LayoutResult& result) {
  const double scale = 1e9 / double(c.problem.batch_count) / (c.hot() ? c.threads : 1);
  const auto threshold = conversion_reuse_threshold(result.costs);
  const auto ns = [&](Part part) { return result.parts[part].centre * scale; };
  fmt::print(out, "{:<34} {:>9.1f} {:>9.1f} {:>9.1f} {:>12.1f} {:>10.1f}  {:<16} {:>9} {:>10}\n",
             fmt::format("{} {}x{}x{} {} {} b{:g} t{}", to_string(c.problem.dtype), c.problem.m, c.problem.n,
                         c.problem.k, to_string(c.layout), to_string(c.problem.residency), c.beta, c.threads),
             ns(part_in), ns(part_out), ns(part_direct), ns(part_multiply), ns(part_converted),
             result.peer.empty() ? "none" : result.peer,
             result.peer.empty() ? "" : fmt::format("{:.1f}", result.peer_seconds.centre * scale),
             threshold ? fmt::format("{}", *threshold) : "never");
}

}  // namespace

void bench_layout(const BenchFlags& flags, const BenchPlan& plan) {
  for (const BenchCase& c : plan.cases)
    if (c.layout != Layout::strided && c.layout != Layout::pointer)
      throw Error(
          ErrorCode::invalid_argument, "--layout",
          fmt::format("--layout = '{}': conversions start from strided or pointer", to_string(c.layout)));
  JsonLines lines(flags.json);
  lines.write({{"command", command_line()}});
  std::FILE* out = lines.people();
  BenchMachine machine;
  Arena interleaved_arena;
  fmt::print(out, "nanoseconds per problem\n{:<34} {:>9} {:>9} {:>9} {:>12} {:>10}  {:<16} {:>9} {:>10}\n",
             "case", "in", "out", "direct", "interleaved", "converted", "best peer", "its time", "pays from");
  const std::string path = layout_costs_path(machine.context.impl().environment);
  Progress progress("bench", std::int64_t(plan.cases.size()));
  std::int64_t done = 0;
  for (const BenchCase& bench_case : plan.cases) {
    progress.show(done++, problem_text(bench_case));
    const LayoutResult result = measure_case(machine, interleaved_arena, plan, bench_case);
    progress.clear();
    print(out, bench_case, result);
    std::fflush(out);
    write(lines, bench_case, result);
    save_layout_costs(path, cpu_info().device, {result.costs});
  }
  fmt::print(out, "kept for explain in {}\n", path);
}

}  // namespace tilewright::cli
