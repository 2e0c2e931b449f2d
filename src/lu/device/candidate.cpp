// streamed: GPUs alone, one or all of them, factor a matrix in host memory, which they hold whole (the
// paper's gpuLU, with transfers that overlap).
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/quantity.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/hybrid/models.hpp"
#include "gemm/hybrid/node.hpp"
#include "gemm/parallel.hpp"
#include "lu/candidates.hpp"
#include "lu/device/streamed.hpp"
#include "lu/device/tools.hpp"
#include "lu/updates.hpp"

namespace tilewright {

namespace {

// The GPUs that the models of the machine choose.
struct GpuChoice {
  std::vector<int> gpus;  // by position
  double seconds = 0, cpu_seconds = 0;
  std::int64_t memory_bytes = 0;  // of each GPU, at most; 0: all that is free
  std::shared_ptr<const NodeModel> node;
};

// The CPU ends fewer operations in some 0.1 ms, so the models are not asked unless a GPU is demanded.
constexpr double least_flops = 1e7;

LuShape shape_of(const LuRequest& r) {
  return {r.problem.dtype, r.problem.m, r.problem.n, r.problem.m, r.options.nb};
}

LuPace pace_of(const NodeModel& node, int gpu, DType dtype) {
  return {node.gpus[std::size_t(gpu)].gemm[std::size_t(dtype)]};
}

double seconds_on(const LuRequest& r, const NodeModel& node, const std::vector<int>& gpus) {
  const GpuModel& gpu = node.gpus[std::size_t(gpus.front())];
  const double bytes = double(r.problem.m * size_bytes(r.problem.dtype));
  const double beside = gpu.duplex * node.together.slower(gpus.size(), gpu.duplex);
  return node.host.stream_start_s +
         StreamedLuPlan(shape_of(r), pace_of(node, gpus.front(), r.problem.dtype), int(gpus.size()),
                        gpu.to_device.s_per_byte * bytes * beside, gpu.to_host.s_per_byte * bytes * beside)
             .seconds();
}

// The blocked algorithm on the CPU alone.
double seconds_on_cpu(const LuRequest& r, const NodeModel& node) {
  const GemmTime& product = node.host.gemm[std::size_t(r.problem.dtype)];
  const std::int64_t nb = std::min<std::int64_t>(128, std::min(r.problem.m, r.problem.n));
  return blocked_seconds(node.host, r.problem, nb, [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return UpdateTime{product.of(double(m), double(n), double(k)), false};
  });
}

bool is_asked_for(const LuOptions& o) { return o.target == Target::gpu || o.candidate == streamed_lu.name; }

std::string streamed_declines(const LuRequest& r) {
  const LuOptions& o = r.options;
  if (o.target == Target::cpu || o.target == Target::hybrid)
    return fmt::format("runs on GPUs only, but target = {}", to_string(o.target));
  if (!is_asked_for(o) && flops(r.problem) < least_flops) return "too little work for a GPU";
  std::string why_none;
  if (Access::impl(r.context).hybrid->gpus(&why_none).empty()) return why_none;
  if (o.nb > LuEngine::most_nb) return fmt::format("nb = {} must be at most {}", o.nb, LuEngine::most_nb);
  return "";
}

// One GPU unless several are faster.
GpuChoice by_models(const LuRequest& r) {
  GpuChoice choice;
  const HybridModels models = largest_update_models(r);
  choice.node = models.node, choice.memory_bytes = models.request.memory_bytes;
  const std::vector<int>& all = models.request.gpus;
  choice.gpus = {all.front()};
  choice.seconds = seconds_on(r, *choice.node, choice.gpus);
  if (all.size() > 1) {
    const double together = seconds_on(r, *choice.node, all);
    if (together < 0.95 * choice.seconds) choice.gpus = all, choice.seconds = together;
  }
  choice.cpu_seconds = seconds_on_cpu(r, *choice.node);
  return choice;
}

// Returns why not, by the models and then by the devices themselves; "" if they can.
std::string why_not_on(const LuRequest& r, const GpuChoice& choice) {
  if (!is_asked_for(r.options) && choice.cpu_seconds <= choice.seconds)
    return fmt::format("the CPU takes about {} and GPUs {} with the transfers",
                       seconds_text(choice.cpu_seconds), seconds_text(choice.seconds));
  HybridNode& hybrid = *Access::impl(r.context).hybrid;
  const std::int64_t free = hybrid.open(choice.gpus), cap = choice.memory_bytes;
  for (const int gpu : choice.gpus)
    if (HybridNode::Use(hybrid).device(gpu).native_stream(Lane::compute) == nullptr)
      return "kernels cannot be queued on its GPUs";
  const std::int64_t needed = streamed_lu_bytes(shape_of(r)), allowed = cap > 0 ? std::min(free, cap) : free;
  if (needed <= allowed) return "";
  return fmt::format("needs memory for the whole matrix, {} MiB of a GPU that has {}", needed >> 20,
                     allowed >> 20);
}

bool all_reach(const HybridNode::Use& use, const std::vector<int>& gpus) {
  for (const int gpu : gpus)
    for (const int other : gpus)
      if (gpu != other && !use.device(gpu).reaches(use.device(other))) return false;
  return true;
}

// `streamed.wrote` is set also if this throws.
LuReport factor_on_gpus(const LuRequest& r, const GpuChoice& choice, void* a, std::int64_t* pivots,
                        StreamedLuReport& streamed) {
  const LuProblem& p = r.problem;
  Context::Impl& context = Access::impl(r.context);
  HybridNode::Use use(*context.hybrid);
  std::vector<int> gpus = choice.gpus;
  if (!all_reach(use, gpus)) gpus.resize(1);
  StreamedLuJob job;
  job.dtype = p.dtype, job.m = p.m, job.n = p.n, job.lda = p.lda, job.nb = r.options.nb;
  job.a = a, job.pivots = pivots;
  job.product = pace_of(*choice.node, gpus.front(), p.dtype).product;
  job.pinned = use.device(gpus.front()).is_pinned(a, ((p.n - 1) * p.lda + p.m) * size_bytes(p.dtype));
  job.copiers = &use.copiers(r.options.threads > 0 ? r.options.threads : omp_get_max_threads());
  for (const int gpu : gpus) {
    const GpuModel& model = choice.node->gpus[std::size_t(gpu)];
    job.gpus.push_back({&use.device(gpu),
                        LuMachines::of(context).tools(context.hybrid->gpus()[std::size_t(gpu)].ordinal),
                        model.to_device, model.to_host});
  }
  factor_streamed(job, streamed);
  LuReport report;
  report.info = streamed.info, report.nb = streamed.nb;
  report.candidate = "streamed", report.gpus = int(gpus.size()), report.pinned = job.pinned;
  return report;
}

// A copy of the matrix as it was, from which the CPU can start again.
class Kept {
 public:
  Kept(const LuRequest& r, const void* a)
      : problem_(r.problem),
        bytes_(std::make_unique_for_overwrite<char[]>(column() * std::size_t(r.problem.n))) {
    // By all threads, each of which also has the system find pages for its part.
    parallel_ranges(allowed_threads(r.options.threads), r.problem.n, 1,
                    [&](std::int64_t first, std::int64_t count) {
                      for (std::int64_t j = first; j < first + count; ++j)
                        std::memcpy(own(j), static_cast<const char*>(a) + std::size_t(j) * pitch(), column());
                    });
  }
  // By this thread alone: a team may need memory, of which there may be none.
  void restore(void* a) const noexcept {
    for (std::int64_t j = 0; j < problem_.n; ++j)
      std::memcpy(static_cast<char*>(a) + std::size_t(j) * pitch(), own(j), column());
  }

 private:
  std::size_t column() const { return std::size_t(problem_.m * size_bytes(problem_.dtype)); }
  std::size_t pitch() const { return std::size_t(problem_.lda * size_bytes(problem_.dtype)); }
  char* own(std::int64_t j) const { return bytes_.get() + std::size_t(j) * column(); }
  const LuProblem& problem_;
  std::unique_ptr<char[]> bytes_;
};

LuReport factor_on_cpu(const LuRequest& r, void* a, std::int64_t* pivots, const Error& why) {
  Access::impl(r.context).notice(fmt::format("the CPU factors {}: {}", to_string(r.problem), why.what()));
  LuOptions options = r.options;
  options.target = Target::cpu, options.candidate = "", options.nb = r.tuned ? 0 : options.nb;
  options.gpus = {};
  const LuRanking chosen = choose_lu({r.context, r.problem, options});
  LuReport report = chosen.made.runner->factor(a, pivots);
  report.candidate = chosen.candidate, report.redone = true;
  return report;
}

LuReport factor_streamed_or_redo(const LuRequest& r, const GpuChoice& choice, void* a, std::int64_t* pivots) {
  const bool redoes = r.options.on_device_failure == OnDeviceFailure::redo;
  std::optional<Kept> kept;
  if (redoes) kept.emplace(r, a);
  StreamedLuReport streamed;
  const auto by_cpu = [&](const Error& error) {
    try {
      return factor_on_cpu(r, a, pivots, error);
    } catch (...) {  // the caller may try something else
      if (redoes) kept->restore(a);
      throw;
    }
  };
  const auto recover = [&](const Error& error) {
    // A caller who left the choice to the models gets no error because others fill a GPU.
    const bool is_full = error.code() == ErrorCode::out_of_memory;
    const bool is_free = r.options.target == Target::automatic && (r.options.candidate.empty() || r.tuned);
    if (is_full && !streamed.wrote && is_free) return by_cpu(error);
    if (!redoes || (!is_full && error.code() != ErrorCode::device_lost))
      throw Error(error.code(), error.argument(),
                  fmt::format("{}{}", error.what(), streamed.wrote && !redoes ? "; a is undefined" : ""));
    return by_cpu(error);
  };
  try {
    return factor_on_gpus(r, choice, a, pivots, streamed);
  } catch (...) {
    if (redoes) kept->restore(a);  // first, since messages need memory
    try {
      throw;
    } catch (const Error& error) {
      return recover(error);
    } catch (const std::bad_alloc&) {
      return recover(Error(ErrorCode::out_of_memory, "", "out of host memory"));
    }
  }
}

class StreamedRunner : public LuRunner {
 public:
  StreamedRunner(const LuRequest& r, const GpuChoice& choice) : LuRunner(r), choice_(choice) {}
  LuReport factor(void* a, std::int64_t* pivots) const override {
    return factor_streamed_or_redo(request(), choice_, a, pivots);
  }
  std::string describe() const override {
    std::string names;
    for (const int gpu : choice_.gpus)
      names +=
          (names.empty() ? "" : ", ") + Access::impl(request().context).hybrid->gpus()[std::size_t(gpu)].name;
    return fmt::format("blocks of nb={} on {}; about {} from pinned memory, on the CPU {}; {}",
                       with_nb(shape_of(request())).nb, names, seconds_text(choice_.seconds),
                       seconds_text(choice_.cpu_seconds), choice_.node->source);
  }
  std::optional<double> predicted_s() const override { return choice_.seconds; }
  bool uses_gpus() const override { return true; }

 private:
  GpuChoice choice_;
};

// The models and the GPUs are asked once, for the offer and for the runner.
LuOffers streamed_offers(const LuRequest& r) {
  const GpuChoice choice = by_models(r);
  if (const std::string reason = why_not_on(r, choice); !reason.empty())
    throw Error(ErrorCode::unsupported, "candidate", reason);
  Offer<LuOperation> offer;
  offer.seconds = choice.seconds;
  offer.make = [&r, choice] { return Made<LuOperation>{std::make_shared<const StreamedRunner>(r, choice)}; };
  return one_offer(std::move(offer));
}

}  // namespace

constinit const LuCandidate streamed_lu{"streamed", Tier::any, streamed_declines, streamed_offers};

}  // namespace tilewright
