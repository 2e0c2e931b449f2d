// hybrid: host operands on CPU and GPUs, shared out by models (models.hpp, split/) and streamed (stream/).
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>

#include "core/dispatch.hpp"
#include "gemm/candidate.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/hybrid/models.hpp"
#include "gemm/hybrid/node.hpp"
#include "gemm/hybrid/options.hpp"
#include "gemm/hybrid/split/shares.hpp"
#include "gemm/operand.hpp"
#include "gemm/parallel.hpp"
#include "gemm/plan.hpp"
#include "gemm/run/host.hpp"
#include "gemm/run/reference.hpp"

namespace tilewright {
namespace {

// A split with its schedules and products.
struct ReadySplit {
  SplitChoice choice;
  std::shared_ptr<const ReadyStream> stream;
};

struct LastRun {
  Split split;
  StreamReport report;
  bool pinned = false;
};

// Operands whose C is a copy, so that no trial writes the caller's; pinned by the device, or pageable (null).
class ScratchC {
 public:
  ScratchC(const GemmProblem& p, const Operands& operands, StreamDevice* device) : operands_(operands) {
    const std::int64_t bytes = ((p.n - 1) * p.ldc + p.m) * size_bytes(p.dtype);
    if (device != nullptr) {
      pinned_ = device->allocate_pinned(bytes);
      operands_.c = pinned_->data();
    } else {
      pageable_.resize(std::size_t(bytes) / sizeof(std::max_align_t) + 1);
      operands_.c = pageable_.data();
    }
    // Padding may be uninitialised: only columns are copied.
    const std::int64_t pitch = p.ldc * size_bytes(p.dtype);
    for (std::int64_t j = 0; j < p.n && p.beta != Scalar::zero; ++j)
      std::memcpy(static_cast<char*>(operands_.c) + j * pitch,
                  static_cast<const char*>(operands.c) + j * pitch, std::size_t(p.m * size_bytes(p.dtype)));
  }
  const Operands& operands() const { return operands_; }

 private:
  std::vector<std::max_align_t> pageable_;
  std::unique_ptr<PinnedMemory> pinned_;
  Operands operands_;
};

// The best of a few runs, after one that warms up.
double seconds_of_best(const std::function<void()>& run) {
  using Clock = std::chrono::steady_clock;
  run();
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    const auto begin = Clock::now();
    run();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    best = i == 0 ? seconds : std::min(best, seconds);
  }
  return best;
}

class HybridRunner : public HostRunner {
 public:
  // Opens the GPUs and makes their products ready.
  HybridRunner(const PlanRequest& r, const HybridModels& models, const SplitChoice& if_pinned)
      : HostRunner(r),
        node_(r.context.hybrid),
        models_(models),
        cblas_(r.context.cblas()),
        shape_(r.problem, is_batch() ? SplitSide::problems : SplitSide::columns),
        redo_(r.options.on_device_failure == OnDeviceFailure::redo),
        rule_(r.options.split) {
    if (is_batch()) host_ = host_runner(r);
    const std::int64_t free = node_->open(models_.request.gpus);
    const bool as_before = !keep_within(free);
    for (const bool pinned : {false, true}) {
      ReadySplit& ready = ready_[pinned];
      ready.choice = pinned && as_before ? if_pinned : choose_split(models_, pinned);
      ready.stream = node_->prepare(r.context, problem(), ready.choice.split, r.may_compile);
    }
  }

  bool cuts_batches() const override { return false; }
  bool runs_parts() const override { return false; }

  bool uses_gpus() const override { return true; }
  void run(const Operands& o) const override {
    if (is_zero_alpha(o)) return scale_c(problem(), o, 0, problem().batch_count);
    const NoCancel uncancelled;
    if (node_->was_lost()) return multiply_all_on_host(o);
    const ForMatrices pinned_of = pinned_operands(o);
    const bool pinned = pinned_of == all_matrices;
    const ReadySplit* ready = &ready_[pinned];
    if (rule_ == SplitRule::guided || rule_ == SplitRule::exhaustive) ready = &found(o, pinned);
    if (ready->choice.split.gpus.empty()) {
      multiply_all_on_host(o);
      return note({ready->choice.split, {}, pinned});
    }
    HybridNode::Use use(*node_);
    note({ready->choice.split, stream(use, *ready, o, pinned_of), pinned});
  }

  std::string device() const override {
    std::string text = HostRunner::device();
    for (const int gpu : models_.request.gpus) text += " + " + models_.node->gpus[std::size_t(gpu)].name;
    return text;
  }
  std::string library() const override {
    return models_.request.may_use_host && cblas_->available() ? cblas_->name() + " on the CPU" : "";
  }
  int thread_count() const override { return allowed_threads(asked_threads()); }
  std::string threads_text() const override {
    return fmt::format("{} of the CPU, one of them for each GPU", thread_count());
  }
  std::string prediction(double) const override;
  std::optional<double> predicted_s(double) const override { return ready_[false].choice.split.seconds; }
  std::string bound() const override;
  nlohmann::json metrics() const override;
  nlohmann::json last_run() const override;

 private:
  // Caps the memory by the free bytes, of which kernels need a few. Returns true if that changes the request.
  bool keep_within(std::int64_t free) {
    const std::int64_t usable = free - free / 20, before = models_.request.memory_bytes;
    for (const int gpu : models_.request.gpus)
      if (free > 0 && gpu_memory(*models_.node, models_.request, gpu) > usable)
        models_.request.memory_bytes = usable;
    return models_.request.memory_bytes != before;
  }

  bool is_batch() const { return problem().layout != Layout::single; }

  // The host's runner for its part of a batch.
  static std::shared_ptr<const Runner> host_runner(const PlanRequest& r) {
    GemmOptions options;
    options.target = Target::cpu;
    options.threads = r.options.threads;
    return find_plan(r.context, r.problem, options)->runner;
  }

  bool is_zero_alpha(const Operands& o) const {
    return dispatch(problem().dtype,
                    [&]<class T>() { return scalar_of<T>(problem().alpha, o.alpha, 0, 0) == T(0); });
  }

  // Operands by pointers count as pinned: their problems are gathered.
  ForMatrices pinned_operands(const Operands& o) const {
    ForMatrices pinned{};
    for (const ProductMatrix which : product_matrices) {
      const std::int64_t span = shape_.span_bytes(which);
      pinned[std::size_t(which)] = span == 0 || node_->is_pinned(address_of(o, which), span);
    }
    return pinned;
  }

  // Each GPU has a thread that waits for it without sleeping.
  int host_threads(int copiers, int gpus) const { return std::max(1, thread_count() - copiers - gpus); }

  void multiply_all_on_host(const Operands& o) const {
    if (is_batch()) return host_->run(o);
    multiply_on_host(problem(), o, host_threads(0, 0));
  }

  void multiply_on_host(const GemmProblem& part, const Operands& o, int threads) const {
    if (!is_for_cblas(part)) return gemm_reference(part, o);
    try {
      multiply_by_cblas(*cblas_, part, o, 0, 1, threads);
    } catch (const std::bad_alloc&) {  // before anything was computed
      gemm_reference(part, o);
    }
  }

  bool is_for_cblas(const GemmProblem& part) const {
    try {
      return why_not_by_cblas(*cblas_, part).empty();
    } catch (const std::bad_alloc&) {  // of the message
      return false;
    }
  }

  StreamReport stream(HybridNode::Use& use, const ReadySplit& ready, const Operands& o,
                      const ForMatrices& pinned) const {
    const Split& split = ready.choice.split;
    StreamJob job{problem(), o, split, {}, ready.stream->schedules, pinned, {}, redo_};
    const int copiers = split.copy_threads > 1 ? split.copy_threads : 0;
    const int threads = host_threads(copiers, int(split.gpus.size()));
    job.multiply_on_host = [this, threads](const GemmProblem& part, const Operands& at) {
      multiply_on_host(part, at, threads);
    };
    job.multiply_range_on_host = [&, threads](std::int64_t first, std::int64_t count) {
      host_->run_part(o, first, count, threads);
    };
    return use.run(std::move(job), *ready.stream);
  }

  // The split that was timed best; the first call with such operands searches for it.
  const ReadySplit& found(const Operands& o, bool pinned) const {
    if (const ReadySplit* ready = searched_[pinned].load(std::memory_order_acquire)) return *ready;
    HybridNode::Use use(*node_);
    if (const ReadySplit* ready = searched_[pinned].load(std::memory_order_acquire)) return *ready;
    SplitRequest request = models_.request;
    if (pinned) request.pinned = all_matrices;
    Context::Impl& context = use.owner();
    const ScratchC scratch(problem(), o, pinned ? use.any_device() : nullptr);
    const ForMatrices pinned_of = pinned_operands(scratch.operands());
    const auto time = [&](const Split& split) {
      ReadySplit trial{{}, node_->prepare(context, problem(), split, true)};
      trial.choice.split = split;
      return seconds_of_best([&] {
        if (!split.gpus.empty()) return void(stream(use, trial, scratch.operands(), pinned_of));
        multiply_all_on_host(scratch.operands());
      });
    };
    const SplitSearchResult result =
        search_split(*models_.node, request, rule_, search_from(ready_[pinned].choice.split), time);
    ReadySplit best = ready_[pinned];
    best.choice.split = result.best;
    best.choice.reason = fmt::format("the fastest of {} timed shares", result.tried);
    best.stream = node_->prepare(context, problem(), best.choice.split, true);
    kept_[pinned] = std::make_unique<const ReadySplit>(std::move(best));
    searched_[pinned].store(kept_[pinned].get(), std::memory_order_release);
    return *kept_[pinned];
  }

  void note(LastRun run) const {
    const std::lock_guard lock(last_mutex_);
    last_ = std::move(run);
  }

  std::shared_ptr<HybridNode> node_;
  HybridModels models_;
  std::shared_ptr<const CblasLibrary> cblas_;
  std::shared_ptr<const Runner> host_;  // of a batch
  StreamShape shape_;                   // its side only matters for batches
  bool redo_;
  SplitRule rule_;
  std::array<ReadySplit, 2> ready_;  // of pageable and of pinned operands
  mutable std::array<std::unique_ptr<const ReadySplit>, 2> kept_;
  mutable std::array<std::atomic<const ReadySplit*>, 2> searched_{};  // kept_, once it is complete
  mutable Mutex last_mutex_;
  mutable std::optional<LastRun> last_;
};

std::string HybridRunner::prediction(double) const {
  const std::string indent(11, ' ');
  std::string text;
  for (const bool pinned : {true, false}) {
    const SplitChoice& choice = ready_[pinned].choice;
    text +=
        fmt::format("{}{}: {}: {}\n{}{}", text.empty() ? "" : "\n" + indent, pinned ? "pinned" : "pageable",
                    seconds_text(choice.split.seconds), splits_text(choice), indent, choice.reason);
    text += "\n" + indent + split_text(*models_.node, choice.split, indent);
  }
  if (rule_ == SplitRule::guided || rule_ == SplitRule::exhaustive)
    text += fmt::format("\n{}split = {}: the first call times several shares of the CPU", indent,
                        to_string(rule_));
  return text + fmt::format("\n{}by {}", indent, models_.node->source);
}

std::string HybridRunner::bound() const {
  const Split& split = ready_[true].choice.split;
  return fmt::format("at least {} by the models: transfers {}, products {}",
                     seconds_text(std::max(split.transfer_s, split.compute_s)),
                     seconds_text(split.transfer_s), seconds_text(split.compute_s));
}

nlohmann::json HybridRunner::metrics() const {
  return {{"pinned", split_json(*models_.node, ready_[true].choice)},
          {"pageable", split_json(*models_.node, ready_[false].choice)},
          {"split", to_string(rule_)},
          {"calibrated", models_.node->calibrated},
          {"models", models_.node->source}};
}

nlohmann::json HybridRunner::last_run() const {
  const std::lock_guard lock(last_mutex_);
  if (!last_) return nullptr;
  const auto& [split, report, pinned] = *last_;
  nlohmann::json gpus = nlohmann::json::array();
  for (std::size_t i = 0; i < split.gpus.size() && i < report.gpu_s.size(); ++i)
    gpus.push_back({{"gpu", split.gpus[i].gpu},
                    {"ordinal", node_->gpu(split.gpus[i].gpu).ordinal},
                    {"name", models_.node->gpus[std::size_t(split.gpus[i].gpu)].name},
                    {"count", split.gpus[i].count},
                    {"seconds", report.gpu_s[i]}});
  return {{"memory", pinned ? "pinned" : "pageable"},
          {"side", to_string(split.side)},
          {"cpu_share", cpu_share(split)},
          {"cpu_count", split.host_count},
          {"cpu_s", report.host_s},
          {"predicted_s", split.seconds},
          {"transfer_s", split.transfer_s},
          {"compute_s", split.compute_s},
          {"gpus", gpus},
          {"redone", report.redone},
          {"failures", report.failures}};
}

GemmOffers hybrid_offers(const PlanRequest& r) {
  const HybridModels models = hybrid_models(r);
  const SplitChoice pinned = choose_split(models, true);
  const bool asked = wants_gpus(r) || r.options.candidate == hybrid_candidate.name;
  if (!asked && pinned.split.gpus.empty())
    throw Error(ErrorCode::unsupported, "target",
                fmt::format("{} ({}; by {})", pinned.reason, splits_text(pinned), models.node->source));
  GemmOffer offer;
  offer.seconds = pinned.split.seconds;
  offer.make = [&r, models, pinned] {
    return GemmMade{std::make_shared<const HybridRunner>(r, models, pinned)};
  };
  return one_offer(std::move(offer));
}

}  // namespace

constinit const GemmCandidate hybrid_candidate{"hybrid", Tier::node, why_not_shared, hybrid_offers};

}  // namespace tilewright
