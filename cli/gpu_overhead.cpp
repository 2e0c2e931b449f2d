// Samples are means over a few launches that the device can queue without making the host wait.
#include "gpu_overhead.hpp"

#include <algorithm>
#include <functional>

#include "device/gpu_graph.hpp"
#include "gemm/gpu_machine.hpp"
#include "gemm/plan.hpp"
#include "measure/clock.hpp"

namespace tilewright::cli {
namespace {

constexpr int launches_per_sample = 100;  // the driver queues about a thousand
constexpr int least_repetitions = 101;
constexpr const char* measured_problem =
    "gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=64:beta=one:location=device";

class Launches {
 public:
  Launches()
      : machine_(context_.impl().gpus->open(0)),
        current_(machine_->gpu()),
        plan_(plan(context_, problem_)),
        memory_(machine_->gpu(), std::size_t(3 * problem_.batch_count * 16 * 8)),
        stream_(machine_->gpu()),
        config_(from_json<GemmSmallConfig>(plan_.impl().gpu->config())),
        kernel_(machine_->gemm_small(gemm_small_shape(problem_, 128), config_, problem_.dtype, true)),
        geometry_(kernel_->geometry(problem_.batch_count)) {
    memory_.fill(0, stream_.get());
    a_ = memory_.as<double>(), b_ = a_ + problem_.batch_count * 16, c_ = b_ + problem_.batch_count * 16;
    arguments_.a = a_, arguments_.b = b_, arguments_.c = c_;
    arguments_.count = problem_.batch_count;
    arguments_.alpha = arguments_.beta = 1;
    options_.stream = stream_.get();
    graph_ = std::make_unique<GpuGraph>(machine_->gpu(), stream_.get(), [this] { by_plan(); });
  }

  void by_plan() { plan_.run<double>(1.0, a_, b_, 1.0, c_, stream_.get()); }
  void by_api() {
    const std::int64_t n = 4, count = problem_.batch_count;
    gemm_batched<double>(context_, Op::none, Op::none, 1.0, {a_, n, n, n, n * n, count},
                         {b_, n, n, n, n * n, count}, 1.0,
                         StridedBatch<double, Location::device>{c_, n, n, n, n * n, count}, options_);
  }
  void by_graph() { graph_->launch(stream_.get()); }
  void bare() {
    void* parameters[] = {&arguments_};
    kernel_->function().launch_bare(geometry_, parameters, stream_.get());
  }

  // Seconds of the host for one launch.
  double sample(const std::function<void()>& launch) {
    stream_.synchronize();
    const double begin = wall_seconds();
    for (int i = 0; i < launches_per_sample; ++i) launch();
    const double seconds = wall_seconds() - begin;
    stream_.synchronize();
    return seconds / launches_per_sample;
  }
  const std::string& device() const { return machine_->gpu().limits().name; }

 private:
  Context context_;
  std::shared_ptr<const GpuMachine> machine_;
  Gpu::Current current_;
  GemmProblem problem_ = parse_problem(measured_problem);
  GemmPlan plan_;
  GpuBuffer memory_;
  GpuStream stream_;
  GemmSmallConfig config_;
  std::shared_ptr<const GemmSmallKernel> kernel_;
  GpuLaunch geometry_;
  double *a_ = nullptr, *b_ = nullptr, *c_ = nullptr;
  GemmSmallArgs<double> arguments_{};
  GemmOptions options_;
  std::unique_ptr<GpuGraph> graph_;
};

}  // namespace

GpuLaunchCosts measure_gpu_launches(int repetitions) {
  GpuLaunchCosts result;
  result.problem = measured_problem;
  if (Gpu::count(result.why_none) == 0) return result;
  Launches launches;
  result.device = launches.device();
  struct Way {
    const char* impl;
    const char* what;
    std::function<void()> run;
    std::vector<double> samples;
  };
  std::vector<Way> ways = {{"cuda_driver", "gpu_bare_launch", [&] { launches.bare(); }, {}},
                           {"tilewright", "gpu_plan_launch", [&] { launches.by_plan(); }, {}},
                           {"tilewright", "gpu_api_launch", [&] { launches.by_api(); }, {}},
                           {"cuda_driver", "gpu_graph_launch", [&] { launches.by_graph(); }, {}}};
  for (Way& way : ways) launches.sample(way.run);
  for (int r = 0; r < std::max(repetitions, least_repetitions); ++r)
    for (Way& way : ways) way.samples.push_back(launches.sample(way.run));
  for (const Way& way : ways) result.costs.push_back({way.impl, way.what, estimate(way.samples)});
  std::vector<double> above;  // in the same round
  for (std::size_t i = 0; i < ways[0].samples.size(); ++i)
    above.push_back(ways[1].samples[i] - ways[0].samples[i]);
  result.costs.push_back({"tilewright", "gpu_launch_overhead", estimate(above)});
  return result;
}

}  // namespace tilewright::cli
