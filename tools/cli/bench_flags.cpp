// Turns flags into cases: the product of all lists, in an order that changes the element type least often.
#include "bench_flags.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <map>

#include "bench/family.hpp"
#include "bench/machine.hpp"
#include "core/input/checked.hpp"
#include "core/problem.hpp"
#include "core/product/faults.hpp"
#include "device/team.hpp"
#include "kernel/layout/layout.hpp"
#include "lists.hpp"
#include "peers/peer.hpp"
#include "people/refusal.hpp"

namespace tilewright::cli {
namespace {

[[noreturn]] void not_built(const std::string& flag, const std::string& value, const std::string& reason) {
  not_supported(flag, "{} = '{}' is not supported: {}", flag, value, reason);
}

// True if a transfer's host memory matters: copies read it directly if it is pinned.
bool moves_to_gpu(const FamilyFlags& flags) {
  return flags.is.is_shared || (flags.family == "transfer" && flags.on_gpu());
}

void refuse_location(const FamilyFlags& flags) {
  const Location own = flags.on_gpu() ? Location::device : Location::host;
  for (const std::string& location : split(flags.location, ',')) {
    if (location.empty() || enum_from_string<Location>(location, "--location") == own) continue;
    not_built("--location", flags.location,
              flags.is.both_locations ? fmt::format("{} is measured in one location per run", flags.family)
                                      : fmt::format("{} is measured on operands in {} memory only",
                                                    flags.family, to_string(own)));
  }
}

std::vector<std::string> memories_of(const FamilyFlags& flags) {
  const std::string text = !flags.memory.empty() ? flags.memory
                           : moves_to_gpu(flags) ? "pageable,pinned"
                                                 : "pageable";
  const std::vector<std::string> memories = split(text, ',');
  for (const std::string& memory : memories) {
    if (memory == "pinned" && !moves_to_gpu(flags))
      not_built("--memory", memory, "only transfers to GPUs use pinned memory");
    if (memory != "pageable" && memory != "pinned")
      refuse_value("--memory", memory, "is not one of pinned, pageable");
  }
  return memories;
}

void refuse_what_is_not_built(const FamilyFlags& flags) {
  refuse_location(flags);
  if (flags.target.empty() || flags.is.target_is_variant) return;
  const auto target = enum_from_string<Target>(flags.target, "--target");
  if (flags.family == "hybrid") return;
  if (target != Target::automatic && target != (flags.on_gpu() ? Target::gpu : Target::cpu))
    not_built("--target", flags.target,
              fmt::format("{} runs on the {} only", flags.family, flags.on_gpu() ? "GPU" : "CPU"));
}

std::vector<int> thread_counts(const std::string& text) {
  std::vector<int> threads;
  for (const std::int64_t count : parse_counts("--threads", text, 1)) {
    if (count > most_threads)
      refuse_value("--threads", text, fmt::format("must be at most {}", most_threads));
    threads.push_back(static_cast<int>(count));
  }
  return threads;
}

std::vector<std::string> placements(const std::string& text) {
  if (text.empty()) return {""};
  std::vector<std::string> values = split(text, ',');
  for (const std::string& value : values)
    if (value != "first_touch" && value != "interleave" && value != "per_node")
      refuse_value("--numa", value, "is not one of first_touch, interleave, per_node");
  return values;
}

std::int64_t operand_bytes(const FamilyFlags& flags) {
  return saturating_product(parse_count("--megabytes", flags.megabytes, 1), 1 << 20);
}

struct Shape {
  DType dtype;
  Layout layout;
  OpPair op;
  double beta;
  Residency residency;
  Arrival arrival;
  Size size;
  std::int64_t block;
};

bool is_converted(const FamilyFlags& flags, Layout layout) {
  return flags.family == "layout" && (layout == Layout::strided || layout == Layout::pointer);
}

// Returns the problems per block; the default is one 64-byte vector of each real component, the best for most
// kernels and peers. For conversions it is the block that they produce: on the GPU, where no best one is
// known, all that are worth producing.
std::vector<std::int64_t> blocks_of(const FamilyFlags& flags, DType dtype, Layout layout) {
  const bool converted = is_converted(flags, layout);
  if (layout != Layout::block_interleaved && !converted) return {0};
  if (!flags.block.empty()) return parse_counts("--block", flags.block, 1);
  if (converted && !flags.on_gpu()) return {0};
  if (converted) {
    std::vector<std::int64_t> blocks;
    layout_space(dtype).visit([&](const LayoutConfig& config) { blocks.push_back(config.block); });
    return blocks;
  }
  return {dtype == DType::f32 || dtype == DType::c64 ? 16 : 8};
}

GemmProblem make_problem(const FamilyFlags& flags, const Shape& shape, std::int64_t batch) {
  GemmProblem problem;
  problem.dtype = shape.dtype;
  problem.op_a = shape.op.a;
  problem.op_b = shape.op.b;
  problem.m = shape.size.m;
  problem.n = shape.size.n;
  problem.k = shape.size.k;
  const std::int64_t pad = parse_count("--pad-ld", flags.pad_ld, 0);
  problem.lda = problem.a_rows() + pad;
  problem.ldb = problem.b_rows() + pad;
  problem.ldc = problem.m + pad;
  const bool pointers = shape.layout == Layout::grouped || shape.layout == Layout::variable;
  problem.layout = pointers ? Layout::pointer : shape.layout;
  problem.block = is_converted(flags, shape.layout) ? 0 : shape.block;
  problem.alpha = scalar_class(parse_number("--alpha", flags.alpha));
  problem.beta = scalar_class(shape.beta);
  problem.residency = shape.residency;
  problem.arrival = shape.arrival;
  // An isolated call has one problem, or one block of them, unless said otherwise.
  if (batch == 0 && shape.arrival == Arrival::idle) batch = std::max<std::int64_t>(1, problem.block);
  if (flags.on_gpu()) {
    problem.location = Location::device;
    GemmProblem one = packed(problem);
    if (one.layout == Layout::interleaved) one.block = 0;  // all problems, whatever their number
    one.batch_count = batch > 0 ? batch : bench::device_batch_count(one, std::size_t(operand_bytes(flags)));
    if (one.layout == Layout::single) one.batch_count = 1;
    return packed(one);
  }
  const std::int64_t fits = default_batch_count(problem, shape.residency);
  problem.batch_count = batch == 0                           ? fits
                        : shape.residency == Residency::cold ? batch
                                                             : std::min(batch, fits);
  if (problem.layout == Layout::single) problem.batch_count = 1;
  return packed(problem);
}

std::vector<Layout> layouts_of(const FamilyFlags& flags) {
  const bool large = flags.family == "gemm" || flags.is.is_shared;
  if (flags.layout.empty()) return {large ? Layout::single : Layout::strided};
  const auto layouts = parse_names<Layout>("--layout", flags.layout);
  for (const Layout layout : layouts)
    if (flags.family == "hybrid") {
      if (layout == Layout::grouped || layout == Layout::variable)
        not_built("--layout", to_string(layout), "hybrid takes one shape per run");
    } else if (large && layout != Layout::single && layout != Layout::strided)
      not_built("--layout", to_string(layout), "gemm takes single and strided matrices");
  return layouts;
}

std::vector<Shape> shapes(const FamilyFlags& flags) {
  std::vector<Shape> all;
  const auto sizes =
      parse_sizes("--sizes", flags.sizes.empty() ? flags.is.sizes : flags.sizes, flags.is.edges);
  const auto residencies = parse_names<Residency>("--residency", !flags.residency.empty() ? flags.residency
                                                                 : flags.on_gpu()         ? "cold"
                                                                                  : flags.is.residencies);
  const auto arrivals = parse_names<Arrival>("--arrival", flags.arrival);
  for (const DType dtype : parse_names<DType>("--dtype", flags.dtype))
    for (const Layout layout : layouts_of(flags))
      for (const OpPair op : parse_ops("--op", flags.op))
        for (const double beta : parse_numbers("--beta", flags.beta))
          for (const Residency residency : residencies)
            for (const Arrival arrival : arrivals)
              for (const std::int64_t block : blocks_of(flags, dtype, layout))
                for (const Size& size : sizes)
                  all.push_back({dtype, layout, op, beta, residency, arrival, size, block});
  for (const Residency residency : residencies)
    if (flags.on_gpu() && residency != Residency::cold)
      not_built("--residency", to_string(residency), "on the GPU operands are always cold");
    else if (residency == Residency::automatic)
      refuse_value("--residency", "auto", "is not one of cold, l2, l1");
  return all;
}

void choose_peers(const FamilyFlags& flags, bench::Plan& plan) {
  plan.all_peers = flags.peers == "auto";
  if (plan.all_peers || flags.peers == "none") return;
  plan.peers = split(flags.peers, ',');
  const std::vector<std::string> known = flags.is.peers != nullptr ? flags.is.peers()
                                         : flags.on_gpu()          ? bench::gpu_peer_names(flags.family)
                                                                   : peers::peer_names();
  for (const std::string& name : plan.peers)
    if (std::find(known.begin(), known.end(), name) == known.end())
      refuse_value("--peers", name, fmt::format("is not one of auto, none, {}", fmt::join(known, ", ")));
}

void choose_variants(const FamilyFlags& flags, bench::Plan& plan) {
  const bool by_target = flags.is.target_is_variant && !flags.target.empty();
  if (flags.ways.empty() && !by_target) return;
  if (!flags.ways.empty() && by_target)
    refuse_value("--ways", flags.ways, fmt::format("conflicts with --target = '{}'", flags.target));
  const std::vector<std::string> known =
      flags.is.ways != nullptr ? flags.is.ways() : std::vector<std::string>();
  plan.ways = split(by_target ? flags.target : flags.ways, ',');
  for (std::string& name : plan.ways) {
    if (by_target && name == "auto") name = "automatic";
    if (std::find(known.begin(), known.end(), name) == known.end())
      refuse_value(by_target ? "--target" : "--ways", name,
                   fmt::format("is not one of {}", fmt::join(known, ", ")));
  }
}

double error_limit(const std::string& most) {
  if (most.empty()) return 0;
  const double limit = parse_number("--most-error-ratio", most);
  if (!(limit > 0)) wrong_use("--most-error-ratio", "--most-error-ratio = {} must be positive", most);
  return limit;
}

void choose_target(const FamilyFlags& flags, bench::Case& one) {
  one.target = !flags.target.empty() ? flags.target
               : flags.is.is_shared  ? "auto"
               : flags.on_gpu()      ? "gpu"
                                     : "cpu";
  // The CPU computes operands on the host, unless bench hybrid shares them.
  if (!flags.on_gpu() && one.target == "cpu") one.options.target = Target::cpu;
  if (flags.family == "hybrid") {
    one.options.target = enum_from_string<Target>(one.target, "--target");
    set_hybrid(flags.hybrid, one.options);
  }
}

// Refuses what cannot be measured before memory is allocated.
void check_case(const bench::Case& c) {
  validate(c.problem);
  refuse_out_of_range("--alpha", c.alpha, c.problem.dtype);
  refuse_out_of_range("--beta", c.beta, c.problem.dtype);
  if (c.threads > 1 && c.hot() && c.options.arrival == Arrival::idle)
    not_built("--arrival", to_string(c.options.arrival),
              "with --residency l2 and l1 every thread repeats a batch of its own");
}

}  // namespace

bool BenchFamily::owns(const std::string& flag) const {
  return std::any_of(own.begin(), own.end(), [&](const Flag& one) { return one.name == flag; });
}

bool FamilyFlags::on_gpu() const {
  if (is.both_locations && !location.empty()) return location == "device";
  return is.is_on_gpu;
}

bench::Plan plan_bench(const FamilyFlags& flags) {
  refuse_what_is_not_built(flags);
  bench::Plan plan;
  plan.family = flags.family;
  choose_peers(flags, plan);
  choose_variants(flags, plan);
  plan.memories = memories_of(flags);
  plan.configs = parse_int("--configs", flags.configs, 0);
  plan.operand_bytes = operand_bytes(flags);
  plan.device = parse_int("--device", flags.device, 0);
  plan.counters = flags.counters;
  plan.is_default_batch = flags.batch.empty();
  plan.check_only = flags.check_only;
  plan.once = flags.once;
  plan.races = parse_int("--races", flags.races, 0);
  plan.energy_window_s = parse_number("--energy-seconds", flags.energy_seconds);
  if (!(plan.energy_window_s > 0)) refuse_value("--energy-seconds", flags.energy_seconds, "must be positive");
  plan.energy_rounds = parse_int("--energy-rounds", flags.energy_rounds, 0);
  plan.most_error_ratio = error_limit(flags.most_error_ratio);
  plan.repetitions = parse_int("--repetitions", flags.repetitions, 1);
  const auto batches =
      flags.batch.empty() ? std::vector<std::int64_t>{0} : parse_counts("--batch", flags.batch, 1);
  const auto orders = parse_names<PointerOrder>("--pointer-order", flags.pointer_order);
  const auto data = parse_names<Data>("--data", flags.data);
  bench::Case one;
  one.family = flags.family;
  one.form = flags.is.form;
  one.alpha = parse_number("--alpha", flags.alpha);
  choose_target(flags, one);
  one.options.candidate = candidate_named(flags.candidate);
  one.options.config = flags.config;
  one.options.learn = enum_from_string<Learn>(flags.learn, "--learn");
  set_objective("--objective", flags.objective, one.options);
  for (const int threads : thread_counts(flags.threads))
    for (const std::string& numa : placements(flags.numa))
      for (const Shape& shape : shapes(flags))
        for (const std::int64_t batch : batches)
          for (const PointerOrder order : orders)
            for (const Data kind : data) {
              one.threads = threads;
              one.numa = numa;
              one.problem = make_problem(flags, shape, batch);
              one.layout = shape.layout;
              one.beta = shape.beta;
              one.convert_block = is_converted(flags, shape.layout) ? shape.block : 0;
              one.pointer_order = order;
              one.data = kind;
              one.options.residency = shape.residency;
              one.options.arrival = shape.arrival;
              check_case(one);
              plan.cases.push_back(one);
            }
  // Changing the element type refills a gigabyte.
  std::stable_sort(plan.cases.begin(), plan.cases.end(), [](const bench::Case& x, const bench::Case& y) {
    return x.problem.dtype < y.problem.dtype;
  });
  if (flags.is.complete != nullptr) flags.is.complete(flags, plan);
  return plan;
}

}  // namespace tilewright::cli
