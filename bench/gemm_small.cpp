// Measures batched small GEMM on the GPU: checks the most promising configs of each case, times them, and
// then times the best beside cuBLAS and the streaming ceiling, interleaved in one run. Writes each case with
// the keys of docs and bench as JSON lines as soon as it is done. A stand-alone program beside `tilewright
// bench gemm_small`, for the searches that wisdom is made of and for pictures of what a parameter does.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/env.hpp"
#include "device/gpu/nvml.hpp"
#include "gemm_small_axis.hpp"
#include "gemm_small_check.hpp"
#include "gemm_small_choice.hpp"
#include "gemm_small_load.hpp"
#include "gemm_small_peers.hpp"
#include "gemm_small_rows.hpp"
#include "gemm_small_watchdog.hpp"
#include "kernel/probe/gather.hpp"
#include "kernel/probe/stream.hpp"
#include "tune/line_log.hpp"
#include "wisdom/families.hpp"

namespace tilewright::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Samples = std::vector<double>;

constexpr int screening_samples = 3;

Estimate centre(Samples samples) {
  samples.erase(samples.begin());  // warm-up
  return estimate(std::move(samples));
}

// Of times taken in the same repetition, as long as both were.
Estimate paired_ratio(const Samples& theirs, const Samples& ours) {
  Samples ratios;
  for (std::size_t i = 0; i < std::min(theirs.size(), ours.size()); ++i)
    ratios.push_back(theirs[i] / ours[i]);
  return centre(std::move(ratios));
}

std::optional<LineLog> log_for(const std::string& path, const char* argument) {
  if (path.empty()) return std::nullopt;
  return std::optional<LineLog>(std::in_place, path, LineLogRules{argument, "command", false});
}

class Bench {
 public:
  explicit Bench(const Flags& flags)
      : flags_(flags),
        gpu_(0),
        current_(gpu_),
        compiler_(flags.share, flags.cache, Environment::read().nvrtc),
        stream_(gpu_),
        start_(gpu_),
        stop_(gpu_),
        nvml_(gpu_.limits().uuid),
        rows_(gpu_, nvml_, compiler_, blas_),
        json_(log_for(flags.json, "json")),
        sweep_(log_for(flags.sweep, "sweep")) {
    blas_.set_stream(stream_.get());
    const nlohmann::json head{{"command", flags.command},
                              {"device", gpu_.limits().name},
                              {"device_uuid", gpu_.limits().uuid},
                              {"source_hash", current_source_hash("gemm_small")}};
    json_->write(head);
    if (sweep_) sweep_->write(head);
  }

  // Returns the number of configs that were wrong.
  std::size_t run() {
    if (flags_.variety > 0) run_variety();
    if (!flags_.groups.empty()) run_cases();
    return wrong_;
  }

 private:
  bool out_of_time() const {
    return std::chrono::duration<double>(Clock::now() - begin_).count() > flags_.deadline_s;
  }

  // Only checked, not timed.
  void run_variety() {
    std::deque<Job> jobs = draw_jobs(flags_, gpu_.limits());
    CompilePool pool(compiler_, gpu_.limits().compute_capability, jobs, 64);
    std::size_t right = 0;
    for (std::size_t i = 0; i < jobs.size() && !out_of_time(); ++i) {
      watchdog_.begin("compiling");
      Job& job = pool.take(i);
      load_trials(job, true);
      right += job.trials.size();
      job.trials.clear();
    }
    std::printf("variety: %zu right, %zu wrong\n", right, wrong_);
    json_->write({{"variety_right", right}, {"variety_wrong", wrong_}});
  }

  void run_cases() {
    std::deque<Job> jobs = choose_jobs(flags_, gpu_.limits());
    if (!flags_.once) streams_.emplace(gpu_, compiler_);
    CompilePool pool(compiler_, gpu_.limits().compute_capability, jobs, 16);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (out_of_time()) {
        std::printf("out of time after %zu of %zu cases\n", i, jobs.size());
        break;
      }
      watchdog_.begin("compiling");
      Job& job = pool.take(i);
      run_case(job);
      job.trials.clear();
    }
  }

  // Leaves the trials that could be loaded and, where they are checked, are right.
  void load_trials(Job& job, bool checked) {
    const GemmProblem& p = job.named.one.problem;
    for (Trial& trial : job.trials) {
      if (!trial.fault.empty()) continue;
      watchdog_.begin(to_string(p) + " " + describe(trial.config));
      try {
        trial.kernel =
            std::make_unique<GemmSmallKernel>(gpu_, trial.binary, job.shape, trial.config, p.dtype);
        if (!checked) continue;
        const CheckResult result = check_small(gpu_, job.named.one, *trial.kernel);
        trial.fault = result.fault;
        trial.error = result.accuracy.share();
      } catch (const Error& error) {
        trial.fault = error.what();
      }
    }
    for (Trial& trial : job.trials) {
      if (trial.fault.empty()) continue;
      ++wrong_;
      trial.fault.resize(std::min<std::size_t>(trial.fault.size(), 600));
      std::printf("FAULT %s %s: %s\n", to_string(p).c_str(), describe(trial.config).c_str(),
                  trial.fault.c_str());
      json_->write(SmallRows::fault(job, trial));
    }
    std::fflush(stdout);
    std::erase_if(job.trials, [](const Trial& trial) { return !trial.fault.empty(); });
  }

  template <class F>
  double time_once(F&& call, int times = 1) {
    start_.record(stream_.get());
    for (int i = 0; i < times; ++i) call();
    stop_.record(stream_.get());
    stop_.synchronize();
    return stop_.seconds_since(start_) / times;
  }

  void run_case(Job& job) {
    load_trials(job, !flags_.once);
    const GemmProblem& p = job.named.one.problem;
    if (job.trials.empty()) {
      std::printf("%s: nothing ran\n", to_string(p).c_str());
      return;
    }
    if (flags_.check_only) {
      std::printf("%s: %zu configs right\n", to_string(p).c_str(), job.trials.size());
      return;
    }
    if (!buffers_) buffers_.emplace(gpu_, flags_.cases.bytes);
    buffers_->fill(p.dtype);
    const SmallLoad load(gpu_, job.named.one, *buffers_);
    BlasPeer peer(blas_, gpu_, load, (*buffers_)[0], (*buffers_)[1], (*buffers_)[2]);
    if (flags_.once) {
      launch_once(job, load, peer);
      return;
    }
    const int times = p.batch_count <= few ? 100 : 1;
    screen(job, load, times);
    std::vector<nlohmann::json> screened = screened_rows(job);
    std::stable_sort(job.trials.begin(), job.trials.end(),
                     [](const Trial& x, const Trial& y) { return x.screened.centre < y.screened.centre; });
    if (job.trials.size() > 3) job.trials.resize(3);
    compare_case(job, load, peer, times, screened);
  }

  // One launch each and nothing else of this program, so that a profiler's list of kernels is the file's.
  void launch_once(const Job& job, const SmallLoad& load, BlasPeer& peer) {
    const double bytes = traffic_of(load.batch()).bytes;
    const Trial& trial = job.trials.front();
    json_->write(SmallRows::launch(job, "tilewright", launched_++, bytes, &trial));
    load.launch(*trial.kernel, stream_.get());
    gpu_.synchronize();
    if (peer.name().empty()) return;
    json_->write(SmallRows::launch(job, peer.name(), launched_++, bytes, nullptr));
    peer.launch();
    gpu_.synchronize();
  }

  // All trials in turn in every repetition.
  void screen(Job& job, const SmallLoad& load, int times) {
    const int samples = flags_.axis.empty() ? screening_samples : flags_.repetitions;
    std::vector<Samples> seconds(job.trials.size());
    for (int r = -1; r < samples; ++r)
      for (std::size_t i = 0; i < seconds.size(); ++i) {
        const Trial& trial = job.trials[i];
        watchdog_.begin(to_string(job.named.one.problem) + " " + describe(trial.config));
        seconds[i].push_back(time_once([&] { load.launch(*trial.kernel, stream_.get(), turn_++); }, times));
      }
    for (std::size_t i = 0; i < seconds.size(); ++i) job.trials[i].screened = centre(seconds[i]);
  }

  // Of all trials, while they are there: the slow ones are dropped before the bound is known.
  std::vector<nlohmann::json> screened_rows(const Job& job) const {
    std::vector<nlohmann::json> rows;
    if (!sweep_) return rows;
    for (const Trial& trial : job.trials) {
      nlohmann::json row = rows_.ours(job, trial, trial.screened);
      row["phase"] = flags_.axis.empty() ? "screen" : "vary";
      if (job.base) {
        row["axis"] = flags_.axis;
        row["value"] = axis_value(trial.config, flags_.axis);
        row["base_value"] = axis_value(*job.base, flags_.axis);
      }
      rows.push_back(std::move(row));
    }
    return rows;
  }

  // Where all matrices have one size; null elsewhere.
  std::unique_ptr<GpuGather> gather_of(const Job& job) const {
    const GemmProblem& p = job.named.one.problem;
    if (p.layout != Layout::pointer) return nullptr;
    const int bytes = static_cast<int>(size_bytes(p.dtype));
    const auto size = [&](std::int64_t elements) { return static_cast<int>(elements) * bytes; };
    return std::make_unique<GpuGather>(
        gpu_, compiler_,
        GpuGather::Sizes{size(p.m * p.k), size(p.k * p.n), size(p.m * p.n), job.shape.reads_c});
  }

  struct Contest {
    std::vector<Samples> own, stream, gather;
    Samples other;
    std::vector<double> moved;
  };

  // Ours, cuBLAS and the streaming loops in turn, in every repetition.
  Contest contest(const Job& job, const SmallLoad& load, BlasPeer& peer, int times) {
    const bool reads_c = job.shape.reads_c;
    const std::vector<GpuStreams::Loop>& loops = streams_->loops(reads_c);
    // The case's own mix of A, B and C.
    const GpuStreamMix mix = traffic_of(load.batch()).mix.as_long_as(double(flags_.cases.bytes));
    Contest c{std::vector<Samples>(job.trials.size()),
              std::vector<Samples>(loops.size()),
              {},
              {},
              std::vector<double>(loops.size())};
    const std::unique_ptr<GpuGather> gather = gather_of(job);
    if (gather) c.gather.resize(gather->ways());
    for (int r = -1; r < flags_.repetitions; ++r) {
      watchdog_.begin(to_string(job.named.one.problem));
      for (std::size_t i = 0; i < c.own.size(); ++i)
        c.own[i].push_back(
            time_once([&] { load.launch(*job.trials[i].kernel, stream_.get(), turn_++); }, times));
      // The slowest peers (small n) take 200 times as long; a few samples of those say enough.
      if (!peer.name().empty() && (r < 5 || c.other.back() < 0.02))
        c.other.push_back(time_once([&] { peer.launch(turn_++); }, times));
      for (std::size_t i = 0; i < loops.size(); ++i)
        c.stream[i].push_back(time_once([&] {
          c.moved[i] = GpuStreams::launch(loops[i], mix, (*buffers_)[0], (*buffers_)[1], (*buffers_)[2],
                                          stream_.get());
        }));
      const GemmSmallOperands& o = load.operands();
      for (std::size_t way = 0; way < c.gather.size(); ++way)
        c.gather[way].push_back(
            time_once([&] { gather->launch(way, o.a, o.b, o.c, o.count, stream_.get()); }, times));
    }
    return c;
  }

  SmallBound bound_of(const SmallBatch& batch, const Contest& c, bool reads_c) const {
    SmallBound bound{traffic_of(batch).bytes, flops_of(batch)};
    for (std::size_t i = 0; i < c.stream.size(); ++i) {
      const double rate = c.moved[i] / centre(c.stream[i]).centre * 1e-9;
      bound.ceilings[streams_->loops(reads_c)[i].name] = rate;
      bound.ceiling = std::max(bound.ceiling, rate);
    }
    for (const Samples& samples : c.gather) {
      const double seconds = centre(samples).centre;
      if (bound.gather_s == 0 || seconds < bound.gather_s) bound.gather_s = seconds;
    }
    return bound;
  }

  void compare_case(const Job& job, const SmallLoad& load, BlasPeer& peer, int times,
                    std::vector<nlohmann::json>& screened) {
    const Contest c = contest(job, load, peer, times);
    const SmallBound bound = bound_of(load.batch(), c, job.shape.reads_c);
    for (nlohmann::json& row : screened) {
      SmallRows::add_bound(row, bound);
      sweep_->write(row);
    }
    std::vector<Estimate> estimates;
    for (const Samples& samples : c.own) estimates.push_back(centre(samples));
    const auto best =
        std::min_element(estimates.begin(), estimates.end(),
                         [](const Estimate& x, const Estimate& y) { return x.centre < y.centre; });
    const Trial& winner = job.trials[static_cast<std::size_t>(best - estimates.begin())];
    const Samples& fastest = c.own[static_cast<std::size_t>(best - estimates.begin())];
    nlohmann::json own = rows_.ours(job, winner, *best);
    if (!c.other.empty()) SmallRows::add_ratio(own, peer.name(), paired_ratio(c.other, fastest));
    write(std::move(own), bound);
    const Estimate theirs = c.other.empty() ? Estimate{} : centre(c.other);
    if (!c.other.empty()) write(rows_.peer(job, peer.name(), theirs), bound);
    std::printf("%-11s %s  %8.1f GF/s  share %.3f  of gathering %.3f  peer ratio %6.2f  B %.0f  %s\n",
                job.named.group.c_str(), to_string(job.named.one.problem).c_str(),
                bound.flops / best->centre * 1e-9, bound.seconds() / best->centre,
                bound.gather_s / best->centre, theirs.centre / best->centre, bound.ceiling,
                describe(winner.config).c_str());
    std::fflush(stdout);
  }

  void write(nlohmann::json row, const SmallBound& bound) {
    SmallRows::add_bound(row, bound);
    rows_.add_state(row, bound);
    json_->write(row);
  }

  Flags flags_;
  Clock::time_point begin_ = Clock::now();
  Gpu gpu_;
  Gpu::Current current_;
  StencilCompiler compiler_;
  GpuBlas blas_;
  GpuStream stream_;
  GpuEvent start_, stop_;
  Nvml nvml_;
  SmallRows rows_;
  std::optional<SmallBuffers> buffers_;
  std::optional<LineLog> json_, sweep_;
  std::optional<GpuStreams> streams_;
  std::size_t wrong_ = 0, launched_ = 0;
  std::int64_t turn_ = 0;  // of launches, through the copies of a case
  Watchdog watchdog_;
};

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  try {
    return tilewright::bench::Bench(tilewright::bench::parse(argc, argv)).run() == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_gemm_small: %s\n", error.what());
    return 1;
  }
}
