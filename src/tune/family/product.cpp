// The families of this build, and operations that bind a problem to its family and the machine.
#include <algorithm>

#include "tune/family/family.hpp"
#include "wisdom/wisdom.hpp"

#if TILEWRIGHT_HAS_GPU
#include "device/gpu/gpu.hpp"
#endif

namespace tilewright {
namespace {

class ProductOperation : public Operation {
 public:
  ProductOperation(const GemmProblem& problem, TuneMachine& machine, const ProductTuning& how)
      : problem_(searched_problem(without_levels(problem))),
        family_(family_for(how.families, problem_)),
        machine_(machine),
        rules_(how.rules),
        known_(how.known) {
    family_.check_axes(rules_);
    if (how.seeds) rules_.seeds = how.seeds(family_.name(), problem_);
  }

  std::string text() const override { return to_string(problem_); }
  Location location() const override { return problem_.location; }
  const SearchPace& pace() const override { return family_.pace(); }
  EnergyMeter& meter(const TuneObjective& objective) override {
    if (problem_.arrival != Arrival::back_to_back)
      throw Error(ErrorCode::unsupported, "arrival",
                  fmt::format("arrival = {} is tuned for time only: energy is measured under steady load",
                              to_string(problem_.arrival)));
    return machine_.meter(objective, problem_.location);
  }

  // Opens no GPU.
  void describe_run(nlohmann::json& run) const override {
    run["rules"] = rules_.as_json();
    run["isa"] = to_string(machine_.isa());
    run["device"] = machine_.device_name(Location::host);
    run["source_hash"][family_.name()] = family_.source_hash();
    if (problem_.location != Location::device) return;
    run["gpu"] = machine_.device();
#if TILEWRIGHT_HAS_GPU
    const GpuLimits limits = Gpu::limits_of(machine_.device());
    run["gpu_name"] = limits.name;
    run["gpu_uuid"] = limits.uuid;
#endif
  }

  std::optional<nlohmann::json> known(const TuneObjective& objective) const override {
    if (known_) return known_(problem_);
    std::optional<nlohmann::json> found;
    if (machine_.wisdom() == nullptr) return found;
    const WisdomQuery query{family_.name(), family_.architecture(machine_), problem_, objective.text(),
                            machine_.device_name(problem_.location)};
    machine_.wisdom()->offer(query, [&](const WisdomAnswer& answer) {
      if (answer.match == WisdomMatch::exact) found = answer.config;
      return found.has_value();
    });
    return found;
  }

  // Cold operands of one type are the same for all problems.
  std::string operand_pool() const override {
    return problem_.residency == Residency::cold ? to_string(problem_.dtype) : "";
  }
  OperandRing operands(double most_s) override { return family_.operands(problem_, machine_, most_s); }
  void fill(double ring_bytes) override { family_.fill(problem_, machine_, ring_bytes); }

  OpenProblem open(const std::optional<nlohmann::json>& incumbent, double ring_bytes) override {
    ChoiceRules rules = rules_;
    rules.incumbent = incumbent;
    return family_.open(problem_, rules, machine_, ring_bytes);
  }

 private:
  GemmProblem problem_;
  const TuneFamily& family_;
  TuneMachine& machine_;
  ChoiceRules rules_;
  std::function<std::optional<nlohmann::json>(const GemmProblem&)> known_;
};

}  // namespace

std::optional<Decline> gpu_declines(const GemmProblem& p) {
  if (std::min({p.m, p.n, p.k}) < 1)
    return Decline{.argument = "problem", .reason = "tuning needs sizes of at least 1"};
  if (p.residency == Residency::l1 || p.residency == Residency::l2)
    return Decline{.argument = "residency", .reason = "tuning on a GPU needs residency = cold"};
  return std::nullopt;
}

const FamilyList& tune_families() {
  static const FamilyList families = {
    &gemm_small_cpu_family(),
#if TILEWRIGHT_HAS_GPU
    &gemm_small_family(),
    &gemm_large_family(),
#endif
  };
  return families;
}

GemmProblem searched_problem(GemmProblem problem) {
  if (problem.layout != Layout::grouped) return problem;
  problem.layout = Layout::pointer;
  return packed(problem);
}

const TuneFamily& family_for(const FamilyList& families, const GemmProblem& problem) {
  std::optional<Decline> refusal;
  for (const TuneFamily* family : families) {
    auto decline = family->declines(problem);
    if (!decline) return *family;
    if (!refusal || refusal->elsewhere) refusal = std::move(decline);
  }
  throw Error(refusal->code, refusal->argument, fmt::format("{}: {}", to_string(problem), refusal->reason));
}

std::unique_ptr<Operation> product_operation(const GemmProblem& problem, TuneMachine& machine,
                                             const ProductTuning& how) {
  return std::make_unique<ProductOperation>(problem, machine, how);
}

Operations product_operations(const std::vector<GemmProblem>& problems, TuneMachine& machine,
                              const ProductTuning& how) {
  Operations operations;
  for (const GemmProblem& problem : problems) operations.push_back(product_operation(problem, machine, how));
  return operations;
}

}  // namespace tilewright
