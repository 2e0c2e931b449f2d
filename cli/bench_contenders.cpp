// Preparing operands, plans and peers for one case, and checking every implementation on them.
#include "bench_contenders.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench_ours.hpp"
#include "gemm/plan.hpp"
#include "measure/compute_peak.hpp"
#include "measure/streaming.hpp"

namespace tilewright::cli {
namespace {

// Rival groups of the benchmark: within each, who is clearly beaten is timed no further.
enum Rivals : int {
  always = -1,
  rival_peers = 0,
  rival_strided_peers = 1,
  rival_memory_loops = 2,
  rival_l2_loops = 3
};

constexpr double turn_bytes = 48.0 * 1024 * 1024;  // operands of one cold turn: a few milliseconds

// The match is a column of what bench writes.
ContextOptions no_notices() {
  ContextOptions options;
  options.notices = false;
  return options;
}

ContextOptions no_wisdom() {
  ContextOptions options;
  options.use_wisdom = false;
  return options;
}

Placement placement_of(const std::string& name) {
  return name == "interleave" ? Placement::interleave
         : name == "per_node" ? Placement::per_node
                              : Placement::first_touch;
}

}  // namespace

BenchMachine::BenchMachine()
    : search(peers::find_peers()), context(no_notices()), without_wisdom(no_wisdom()) {}

Contenders::Contenders(BenchMachine& machine, const BenchPlan& plan, const BenchCase& bench_case)
    : machine_(machine), plan_(plan), case_(bench_case) {
  batches_ = batches_for(case_.problem, case_.problem.residency, case_.threads);
  if (!case_.hot() && case_.numa.empty()) {
    const double bytes = std::max(1.0, footprint_bytes(case_.problem));
    batches_per_turn_ = std::clamp<std::int64_t>(std::int64_t(turn_bytes / bytes), 1, batches_);
    batches_ = (batches_ + batches_per_turn_ - 1) / batches_per_turn_ * batches_per_turn_;
  }
  std::vector<GemmProblem> problems = {case_.problem};
  for (const auto& peer : machine_.search.found)
    if (wanted(peer->name())) problems.push_back(peer->stored(case_.problem));
  reserve(problems);
  add_ours();
  for (const auto& peer : machine_.search.found)
    if (wanted(peer->name())) add_peer(*peer);
  check_all();
  if (!case_.hot()) add_memory_loops();
  if (case_.problem.residency == Residency::l2 && is_interleaved(case_.problem.layout)) add_l2_loops();
  add_compute_loop();
}

TimingSchedule Contenders::schedule(int repetitions) const {
  TimingSchedule schedule;
  schedule.threads = case_.threads;
  schedule.hot = case_.hot();
  schedule.batches = batches_;
  schedule.batches_per_turn = batches_per_turn_;
  schedule.repetitions = repetitions;
  schedule.screening = std::min(3, repetitions);
  return schedule;
}

// All sets share the arena, which must not move once the first of them exists.
void Contenders::reserve(const std::vector<GemmProblem>& problems) {
  if (!case_.numa.empty()) return;
  OperandSet::Extent most;
  for (const GemmProblem& problem : problems) {
    const OperandSet::Extent extent = OperandSet::extent(problem, batches_);
    most.input_bytes = std::max(most.input_bytes, extent.input_bytes);
    most.output_bytes = std::max(most.output_bytes, extent.output_bytes);
  }
  machine_.arena.prepare(most.input_bytes, most.output_bytes, case_.problem.dtype, case_.data);
}

std::shared_ptr<Contenders::Stored> Contenders::stored(const GemmProblem& problem) {
  for (const auto& known : stored_)
    if (known->set.problem() == problem) return known;
  OperandSet set = case_.numa.empty()
                       ? OperandSet(machine_.arena, problem, batches_, case_.data, case_.pointer_order)
                       : OperandSet(placement_of(case_.numa), case_.threads, problem, batches_, case_.data,
                                    case_.pointer_order);
  auto made = std::make_shared<Stored>(Stored{std::move(set), {}, nullptr});
  for (std::int64_t batch = 0; batch < batches_; ++batch) made->batches.push_back(made->set.batch(batch));
  made->check = std::make_unique<SampledCheck>(problem, made->batches.front(), case_.alpha, case_.beta);
  stored_.push_back(made);
  return made;
}

bool Contenders::wanted(const std::string& peer) const {
  return plan_.all_peers || std::find(plan_.peers.begin(), plan_.peers.end(), peer) != plan_.peers.end();
}

// With and without wisdom or the config that was asked for, where that is another than the rule of thumb's.
void Contenders::add_ours() {
  add_one_of_ours("tilewright", machine_.context);
  const auto plan = entries_.back().plan;
  const bool wise = plan && plan->impl().match != WisdomMatch::none;
  if (!wise && case_.options.config.empty()) return;
  add_one_of_ours("tilewright_default", machine_.without_wisdom);
  const nlohmann::json standard = entries_.back().plan->impl().runner->config();
  if (standard.is_null() || standard != plan->impl().runner->config()) return;
  entries_.pop_back();
  entry_stored_.pop_back();
}

void Contenders::add_one_of_ours(const std::string& impl, Context& context) {
  const std::shared_ptr<Stored> operands = stored(case_.problem);
  GemmOptions options = case_.options;
  options.threads = threads_per_call();
  if (&context == &machine_.without_wisdom) options.config.clear();
  Ours ours = prepare_ours(context, case_, options, operands->batches);
  Entry entry;
  entry.role = Role::ours;
  entry.impl = impl;
  entry.version = TILEWRIGHT_VERSION;
  entry.stored = case_.layout;
  entry.plan = ours.plan;
  entry.contender.name = impl;
  entry.contender.run = std::move(ours.run);
  entries_.push_back(std::move(entry));
  entry_stored_.push_back(operands);
}

void Contenders::add_peer(const peers::Peer& peer) {
  peers::PeerCase request;
  request.problem = peer.stored(case_.problem);
  request.alpha = case_.alpha;
  request.beta = case_.beta;
  request.threads = threads_per_call();
  request.callers = case_.hot() ? case_.threads : 1;
  peers::PeerOffer offer = peer.prepare(request);
  if (offer.variants.empty()) {
    absences_.push_back({peer.name(), offer.declined});
    return;
  }
  const bool strided = is_interleaved(case_.problem.layout) && !is_interleaved(request.problem.layout);
  const std::shared_ptr<Stored> operands = stored(request.problem);
  for (peers::PeerVariant& variant : offer.variants) {
    Entry entry;
    entry.role = strided ? Role::strided_peer : Role::peer;
    entry.impl = peer.name();
    entry.version = peer.version();
    entry.variant = variant.name;
    entry.stored = request.problem.layout;
    entry.contender.name = peer.name() + " " + variant.name;
    entry.contender.rivals = strided ? rival_strided_peers : rival_peers;
    entry.contender.run = [operands, run = std::move(variant.run)](std::int64_t index) {
      run(operands->batches[static_cast<std::size_t>(index)]);
    };
    entries_.push_back(std::move(entry));
    entry_stored_.push_back(operands);
  }
}

void Contenders::add_memory_loops() {
  const std::shared_ptr<Stored> operands = stored(case_.problem);
  for (const Stream kind : stream_kinds(case_.problem.beta != Scalar::zero)) {
    Entry entry;
    entry.role = Role::memory_loop;
    entry.impl = "stream";
    entry.variant = to_string(kind);
    entry.contender.name = "stream " + entry.variant;
    entry.contender.rivals = rival_memory_loops;
    // One pass over all batches of the turn: small batches must not cost the ceiling a call each.
    entry.contender.run = [operands, kind, per_turn = batches_per_turn_,
                           threads = case_.threads](std::int64_t index) {
      if (index % per_turn == 0) stream(operands->set.streams(index, per_turn), kind, threads);
    };
    entries_.push_back(std::move(entry));
    entry_stored_.push_back(nullptr);
  }
}

void Contenders::add_l2_loops() {
  const std::shared_ptr<Stored> operands = stored(case_.problem);
  for (const Stream kind : {Stream::plain, Stream::prefetch}) {
    Entry entry;
    entry.role = Role::l2_loop;
    entry.impl = "stream";
    entry.variant = to_string(kind);
    entry.contender.name = "l2 stream " + entry.variant;
    entry.contender.rivals = rival_l2_loops;
    entry.contender.run = [operands, kind](std::int64_t index) {
      stream(operands->set.streams(index, 1), kind, 1);
    };
    entries_.push_back(std::move(entry));
    entry_stored_.push_back(nullptr);
  }
}

void Contenders::add_compute_loop() {
  constexpr std::int64_t steps = 4000;
  const DType dtype = case_.problem.dtype;
  for (const std::int64_t bits : {std::int64_t{256}, std::int64_t{512}}) {
    if (bits > widest_vector_bits()) continue;
    Entry entry;
    entry.role = Role::compute_loop;
    entry.impl = "multiply_add";
    entry.variant = fmt::format("{}-bit", bits);
    entry.contender.name = "multiply_add " + entry.variant;
    entry.contender.always_hot = true;
    entry.loop_flops = run_multiply_adds(dtype, bits, steps);
    entry.contender.run = [dtype, bits](std::int64_t) { run_multiply_adds(dtype, bits, steps); };
    entries_.push_back(std::move(entry));
    entry_stored_.push_back(nullptr);
  }
}

// Runs every implementation on the first batch and drops those whose result is wrong.
void Contenders::check_all() {
  std::vector<bool> keep(entries_.size(), true);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    entry.accuracy = entry_stored_[i]->check->check([&] { entry.contender.run(0); });
    if (entry.accuracy.passed()) continue;
    keep[i] = false;
    absences_.push_back({entry.impl + (entry.variant.empty() ? "" : " (" + entry.variant + ")"),
                         "wrong result: " + entry.accuracy.fault(), true});
  }
  for (std::size_t i = entries_.size(); i-- > 0;)
    if (!keep[i]) {
      entries_.erase(entries_.begin() + std::ptrdiff_t(i));
      entry_stored_.erase(entry_stored_.begin() + std::ptrdiff_t(i));
    }
}

}  // namespace tilewright::cli
