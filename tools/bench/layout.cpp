// The family layout: converting strided and pointer batches to interleaved ones, multiplying there, and
// converting back, compared with multiplying in place (Dongarra 2017, Figs. 4a and 5). The times show how
// often converted data must be used before converting pays.
#include "kernel/layout/layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/family.hpp"
#include "bench/machine.hpp"
#include "bench/plans.hpp"
#include "bench/provenance.hpp"
#include "bench/report.hpp"
#include "core/quantity.hpp"
#include "gemm/kept.hpp"
#include "measure/conversion.hpp"
#include "people/refusal.hpp"
#include "people/table.hpp"

namespace tilewright::bench {
namespace {

using nlohmann::json;

// The parts in the order of the report; `converted` is the three in sequence.
constexpr const char* parts[] = {"convert_in", "direct", "interleaved", "convert_out", "converted"};

Case interleaved_case(const Case& c) {
  Case to = c;
  const std::int64_t block = c.convert_block > 0 ? c.convert_block : recommended_block(c.problem.dtype);
  to.problem = interleaved_problem(c.problem, block);
  to.layout = to.problem.layout;
  return to;
}

const people::Table& layout_table() {
  static const people::Table table(
      "case 25< | in 8 | out 8 | as it is 8 | interleaved 11 | all three 9 | "
      "best peer 10< | its time 8 | pays 5");
  return table;
}

// Converts one case to interleaved blocks, multiplies, and converts back.
class LayoutRun {
 public:
  LayoutRun(Machine& machine, const Case& c)
      : machine_(machine),
        from_(c),
        to_(interleaved_case(c)),
        single_(machine.stage(from_)),
        blocks_(machine.stage(to_, 1)),
        conversion_(machine.conversion(from_.problem, to_.problem, single_->options().threads)) {
    add_part("convert_in", [this](std::int64_t b) { convert_in(b); });
    add_part("convert_out", [this](std::int64_t b) { convert_out(b); });
    all_.push_back(single_->tested("tilewright", machine.context, single_->options()));
    all_.back().what = "direct";
    for (const Stage::Variant& variant : blocks_->variants(std::size_t(std::max(1, machine.plan.configs))))
      add_variant(variant);
    std::vector<Absence> absences;
    std::vector<Contender> peers;
    single_->add_peers(peers, absences);
    for (Contender& peer : peers) {
      if (peer.stored != from_.problem.layout) continue;
      peer.what = "direct";
      all_.push_back(std::move(peer));
    }
    check_all(*single_, from_, all_, absences);
    for (const Absence& one : absences) note("left out: {} ({})", one.impl, one.reason);
  }

  CaseOutput measure(LayoutCosts& costs) {
    add_converted();
    for (Contender& loop : conversion_.loops) all_.push_back(std::move(loop));
    hold_rounds(
        all_, [this](Contender& one) { return single_->turn(one); }, single_->rules());
    single_->tell({}, state_);
    set_ceilings();
    if (!from_.on_device())
      for (Contender& one : all_)
        if (!one.is_loop()) single_->measure_energy(one);
    keep_fastest();
    costs = this->costs();
    if (multiplying_ > 0) notes_.push_back(shares_text());
    CaseOutput output{{table_line(costs)}, {}};
    for (const std::string& line : notes_) output.lines.push_back("    " + line);
    for (const Contender* part : kept_) output.rows.push_back(row(*part));
    output.rows.push_back(record_of(costs));
    return output;
  }

  // Returns the best peer's time over tilewright's, which is the faster of multiplying in place and
  // converting both ways; 0 without a peer.
  double ratio() const {
    const Contender* peer = find("direct", false);
    if (peer == nullptr) return 0;
    return peer->seconds.centre / std::min(find("direct")->seconds.centre, find("converted")->seconds.centre);
  }
  double conversion_share() const { return share_of_bound(*find("convert_in")); }

 private:
  template <class... Values>
  void note(const char* format, const Values&... values) {
    notes_.push_back(fmt::format(fmt::runtime(format), values...));
  }
  void convert_in(std::int64_t b) const {
    conversion_.in(single_->batch(b), blocks_->batch(b % blocks_->batches()));
  }
  void convert_out(std::int64_t b) const {
    conversion_.out(blocks_->batch(b % blocks_->batches()), single_->batch(b));
  }
  void add_part(const char* what, std::function<void(std::int64_t)> run) {
    all_.push_back({.role = Role::tested, .impl = "tilewright", .version = TILEWRIGHT_VERSION, .what = what});
    all_.back().run = std::move(run);
  }

  // Conversions are right if the multiplication between them is.
  void add_multiplication(const std::string& variant, const GemmOptions& options) {
    Contender one = blocks_->tested("tilewright", machine_.context, options);
    one.what = "interleaved", one.variant = variant;
    one.run = [run = std::move(one.run), count = blocks_->batches()](std::int64_t b) { run(b % count); };
    one.check = [this, run = one.run] {
      return single_->check([&] { convert_in(0), run(0), convert_out(0); });
    };
    all_.push_back(std::move(one));
  }
  // Adds the promising configs of one method, and those in wisdom for such blocks; leaves out those that do
  // not compile or fit.
  void add_variant(const Stage::Variant& variant) {
    if (variant.name.empty()) return add_multiplication("", blocks_->options());
    if (variant.configs.empty()) note("no kernel with {} fits blocks of {}", variant.name, to_.problem.block);
    std::vector<GemmOptions> tried(variant.configs.size(), blocks_->options());
    std::vector<std::string> declined(tried.size());
#pragma omp parallel for schedule(dynamic)
    for (std::size_t i = 0; i < tried.size(); ++i) try {
        tried[i].config = variant.configs[i].dump();
        plan(machine_.context, to_.problem, tried[i]);
      } catch (const Error& error) {
        declined[i] = error.what();
      }
    for (std::size_t i = 0; i < tried.size(); ++i)
      if (declined[i].empty())
        add_multiplication(variant.name, tried[i]);
      else
        note("left out:{} ({})", config_text(variant.configs[i]), declined[i]);
    const GemmPlan known = plan(machine_.context, to_.problem, blocks_->options());
    if (match_of(known) != WisdomMatch::none && variant.is_of(config_of(known)))
      add_multiplication(variant.name, blocks_->options());
  }

  // Adds the three in sequence, with the multiplication that was fastest in a first sample.
  void add_converted() {
    const Contender* best = nullptr;
    double best_s = 0;
    for (Contender& one : all_) {
      if (one.what != "interleaved") continue;
      if (const double seconds = single_->turn(one); best == nullptr || seconds < best_s)
        best = &one, best_s = seconds;
    }
    if (best == nullptr)
      throw Error(
          ErrorCode::internal, "block",
          fmt::format("{} by blocks of {}: no kernel supports them", problem_text(from_), to_.problem.block));
    const auto made = best->plan;
    add_part("converted", [this, multiply = best->run](std::int64_t b) {
      convert_in(b);
      multiply(b);
      convert_out(b);
    });
    all_.back().plan = made;
  }

  void set_ceilings() {
    for (const Contender& one : all_)
      if (one.is_loop()) {
        double& best = one.impl == "copying" ? copying_ : multiplying_;
        best = std::max(best, one.rate());
        state_.metrics["streaming_gbs"][one.impl][one.variant] = one.rate() * 1e-9;
      }
  }

  // Keeps the fastest of tilewright and of the peers for each part and each method of multiplying interleaved
  // blocks.
  void keep_fastest() {
    for (const char* what : parts)
      for (const bool tested : {true, false})
        for (const Contender& one : all_) {
          if (one.what != what || (one.role == Role::tested) != tested) continue;
          const auto known = std::find_if(kept_.begin(), kept_.end(), [&](const Contender* kept) {
            return kept->what == what && (kept->role == Role::tested) == tested &&
                   (!tested || kept->variant == one.variant);
          });
          if (known == kept_.end())
            kept_.push_back(&one);
          else if (one.seconds.centre < (*known)->seconds.centre)
            *known = &one;
        }
  }
  // Finds the fastest contender of a part.
  const Contender* find(const std::string& what, bool tested = true) const {
    const Contender* best = nullptr;
    for (const Contender* one : kept_)
      if (one->what == what && (one->role == Role::tested) == tested &&
          (best == nullptr || one->seconds.centre < best->seconds.centre))
        best = one;
    return best;
  }

  // Returns the bytes that a part must move and the rate of the loop that bounds it; 0 if no bound is
  // reported.
  std::pair<double, double> bound_of(const Contender& one) const {
    if (one.what == "convert_in") return {conversion_.in_bytes, copying_};
    if (one.what == "convert_out") return {conversion_.out_bytes, copying_};
    if (one.what == "direct") return {single_->bytes(), multiplying_};
    return {one.what == "interleaved" ? blocks_->bytes() : 0, multiplying_};
  }
  double share_of_bound(const Contender& one) const {
    const auto [bytes, rate] = bound_of(one);
    return bytes > 0 && rate > 0 ? bytes / rate / one.seconds.centre : 0;
  }

  LayoutCosts costs() const {
    const GemmProblem& p = from_.problem;
    const double share = (from_.hot() ? 1.0 : double(from_.threads)) / double(p.batch_count);
    const auto seconds = [&](const char* what) { return share * find(what)->seconds.centre; };
    return {.dtype = p.dtype,
            .m = p.m,
            .n = p.n,
            .k = p.k,
            .from = p.layout,
            .block = to_.problem.block,
            .residency = p.residency,
            .convert_in_s = seconds("convert_in"),
            .convert_out_s = seconds("convert_out"),
            .direct_s = seconds("direct"),
            .interleaved_s = seconds("interleaved")};
  }

  std::string table_line(const LayoutCosts& costs) const {
    const GemmProblem& p = from_.problem;
    const double problems = double(p.batch_count) * from_.batches_at_once();
    std::vector<std::string> cells{fmt::format("{} block {}", case_text(from_), costs.block)};
    for (const char* what : {"convert_in", "convert_out", "direct", "interleaved", "converted"})
      cells.push_back(seconds_text(find(what)->seconds.centre / problems));
    const Contender* peer = find("direct", false);
    cells.push_back(peer == nullptr ? "none" : peer->impl);
    cells.push_back(peer == nullptr ? "" : seconds_text(peer->seconds.centre / problems));
    const auto threshold = conversion_reuse_threshold(costs);
    cells.push_back(threshold ? fmt::format("{}", *threshold) : "never");
    return layout_table().row(cells);
  }

  std::string shares_text() const {
    std::string text;
    for (const Contender* part : kept_) {
      const double share = share_of_bound(*part);
      if (part->role != Role::tested || share == 0) continue;
      text += fmt::format("{} {}{} {:.1f} %", text.empty() ? "of the streaming bound:" : ",", part->what,
                          part->variant.empty() ? "" : " with " + part->variant, 100 * share);
    }
    return text;
  }

  json row(const Contender& part) const {
    json object = measured_row(from_, part.impl, part.seconds);
    object["impl_version"] = part.version;
    object["batches_at_once"] = int(from_.batches_at_once());
    object["gflops"] = flops(from_.problem) * from_.batches_at_once() / part.seconds.centre * 1e-9;
    json& metrics = object["metrics"] = state_.metrics;
    metrics["what"] = part.what, metrics["block"] = to_.problem.block;
    if (part.plan) {
      metrics.update(metrics_of(*part.plan));
      if (const json config = config_of(*part.plan); !config.is_null()) {
        object["config"] = config;
        object["wisdom_match"] = to_string(tilewright::bench::match_of(*part.plan));
      }
    }
    // Conversions are checked as a part of the converted multiplication, and have no error of their own.
    if (part.accuracy.bound > 0)
      object["error"] = part.accuracy.error, object["error_bound"] = part.accuracy.bound;
    add_energy(object, part, flops(from_.problem) * from_.batches_at_once());
    if (part.role == Role::tested && !part.variant.empty()) metrics["way"] = part.variant;
    if (const double share = share_of_bound(part); share > 0) {
      const auto [bytes, rate] = bound_of(part);
      object["bound_kind"] = "memory", object["ceiling"] = rate * 1e-9, object["bound_share"] = share;
      if (const double gflops = object["gflops"]; gflops > 0) object["bound_gflops"] = gflops * share;
      metrics["sector_bytes"] = bytes;
    }
    object.update(state_.provenance);
    return object;
  }

  // `explain` computes thresholds from this record.
  json record_of(const LayoutCosts& costs) const {
    json record = case_keys(from_);
    record.update(to_json(costs));
    record["impl"] = "tilewright", record["impl_version"] = TILEWRIGHT_VERSION;
    const auto threshold = conversion_reuse_threshold(costs);
    record["reuse_threshold"] = threshold ? json(*threshold) : json();
    record["metrics"] = {{"what", "costs"}};
    add_no_energy(record, "the costs of the rows above");
    add_provenance(record);
    record.update(state_.provenance);
    add_missing_keys(record);
    return record;
  }

  Machine& machine_;
  Case from_, to_;
  std::unique_ptr<Stage> single_, blocks_;
  Machine::Conversion conversion_;
  std::vector<Contender> all_;
  std::vector<const Contender*> kept_;
  double multiplying_ = 0, copying_ = 0;  // bytes per second of the best loops; 0 if there are none
  CaseResult state_;                      // clock, readings and provenance
  std::vector<std::string> notes_;        // for people
};

class LayoutFamily : public Family {
 public:
  explicit LayoutFamily(const Plan& plan) {
    for (const Case& c : plan.cases) {
      if (c.layout != Layout::strided && c.layout != Layout::pointer)
        wrong_use("--layout", "--layout = '{}' is not one of strided, pointer", to_string(c.layout));
      prepared_.push_back(with_candidate(c));
      prepared_.push_back(interleaved_case(prepared_.back()));
    }
    machine_ = machine_for(plan);
    machine_->prepare(prepared_);
  }

  std::vector<std::string> head() override {
    return {"times of one problem: converted in and out, multiplied as it is, interleaved, and all three",
            layout_table().head()};
  }

  CaseOutput measure(const Case& c) override {
    LayoutCosts costs;
    LayoutRun run(*machine_, with_candidate(c));
    const CaseOutput output = run.measure(costs);
    summary_.add(c, run.ratio(), run.conversion_share());
    save_layout_costs(path_, machine_->device(), costs);
    return output;
  }

  CaseOutput finish() override {
    return {{path_.empty() ? "not kept for explain: there is no folder for wisdom"
                           : "kept for explain in " + path_},
            summary_.objects()};
  }

 private:
  // On a GPU only tilewright's kernels support interleaved blocks.
  static Case with_candidate(Case c) {
    if (c.on_device()) c.options.candidate = "gpu_small";
    return c;
  }

  std::vector<Case> prepared_;
  std::unique_ptr<Machine> machine_;
  Summary summary_;
  std::string path_ = kept_path(Environment::read());
};

}  // namespace

std::unique_ptr<Family> layout_family(const Plan& plan) { return std::make_unique<LayoutFamily>(plan); }

}  // namespace tilewright::bench
