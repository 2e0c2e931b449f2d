// A sample is the mean over a few launches that the device can queue without making the host wait.
#include <algorithm>
#include <functional>

#include "bench/gpu_parts.hpp"
#include "device/gpu/blas.hpp"
#include "device/gpu/gpu.hpp"
#include "gemm/device/machine.hpp"
#include "gemm/plan.hpp"
#include "measure/clock.hpp"

namespace tilewright::bench {
namespace {

constexpr int launches_per_sample = 100;  // the driver queues about a thousand launches
constexpr int least_repetitions = 101;
constexpr const char* measured_problem =
    "gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=64:beta=one:location=device";
// The product is short, so that the device keeps up with a host that queues a hundred launches.
constexpr const char* measured_product = "gemm:f64:nn:m=64,n=64,k=64:location=device";

// Returns the host's seconds for one launch.
double sample_launches(const GpuStream& stream, const std::function<void()>& launch) {
  stream.synchronize();
  const double begin = wall_seconds();
  for (int i = 0; i < launches_per_sample; ++i) launch();
  const double seconds = wall_seconds() - begin;
  stream.synchronize();
  return seconds / launches_per_sample;
}

class Launches {
 public:
  Launches()
      : machine_(Access::impl(context_).gpus->open(0)),
        current_(machine_->gpu()),
        plan_(plan(context_, problem_)),
        memory_(machine_->gpu(), std::size_t(3 * problem_.batch_count * 16 * 8)),
        stream_(machine_->gpu()),
        config_(from_json<GemmSmallConfig>(Access::impl(plan_).runner->config())),
        kernel_(machine_->gemm_small(gemm_small_shape(problem_, 128), config_, problem_.dtype, true)),
        geometry_(kernel_->geometry(problem_.batch_count)) {
    memory_.fill(0, stream_.get());
    a_ = memory_.as<double>(), b_ = a_ + problem_.batch_count * 16, c_ = b_ + problem_.batch_count * 16;
    arguments_.a = a_, arguments_.b = b_, arguments_.c = c_;
    arguments_.count = problem_.batch_count;
    arguments_.alpha = arguments_.beta = 1;
    options_.queue.stream = stream_.get();
    graph_ = std::make_unique<GpuGraph>(machine_->gpu(), stream_.get(), [this] { by_plan(); });
  }

  void by_plan() { plan_.run<double>(1.0, a_, b_, 1.0, c_, stream_.get()); }
  void by_api() {
    const std::int64_t n = 4, count = problem_.batch_count;
    gemm_batched<double>(context_, Op::none, Op::none, 1.0, {{a_, n, n, n}, n * n, count},
                         {{b_, n, n, n}, n * n, count}, 1.0,
                         StridedBatch<double, Location::device>{{c_, n, n, n}, n * n, count}, options_);
  }
  void by_graph() { graph_->launch(stream_.get()); }
  void bare() {
    void* parameters[] = {&arguments_};
    kernel_->function().launch_bare(geometry_, parameters, stream_.get());
  }

  const GpuStream& stream() const { return stream_; }
  const GpuMachine& machine() const { return *machine_; }

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

// Compares a plan that cuBLAS serves with its function called as in a user's program: a handle whose stream
// is set once, the same operands, the function known.
class Products {
 public:
  explicit Products(const GpuMachine& machine)
      : plan_(plan(context_, problem_, served_by_cublas())),
        memory_(machine.gpu(), std::size_t(3 * problem_.m * problem_.n * 8)),
        stream_(machine.gpu()),
        direct_(reinterpret_cast<Gemm>(library_.direct_gemm(DType::f64))) {
    memory_.fill(0, stream_.get());
    library_.set_stream(stream_.get());
    a_ = memory_.as<double>(), b_ = a_ + problem_.m * problem_.k, c_ = b_ + problem_.k * problem_.n;
  }
  void by_plan() { plan_.run<double>(1.0, a_, b_, 0.0, c_, stream_.get()); }
  void directly() {
    const int m = int(problem_.m), n = int(problem_.n), k = int(problem_.k);
    const double one = 1, zero = 0;
    if (direct_(library_.handle(), 0, 0, m, n, k, &one, a_, m, b_, k, &zero, c_, m) != 0)
      throw Error(ErrorCode::internal, "cublas", "cublasDgemm failed");
  }
  const GpuStream& stream() const { return stream_; }

 private:
  using Gemm = int (*)(void*, int, int, int, int, int, const double*, const double*, int, const double*, int,
                       const double*, double*, int);
  static GemmOptions served_by_cublas() {
    GemmOptions options;
    options.candidate = "cublas";
    return options;
  }

  GpuBlas library_;
  Context context_;
  GemmProblem problem_ = packed(parse_problem(measured_product));
  GemmPlan plan_;
  GpuBuffer memory_;
  GpuStream stream_;
  Gemm direct_;
  double *a_ = nullptr, *b_ = nullptr, *c_ = nullptr;
};

struct LaunchMethod {
  const char* impl;
  const char* what;
  std::function<void()> run;
  std::vector<double> samples{};
};

// Measures all in alternation; then by how much `above` costs more than the first, within rounds.
void measure_in_turn(std::vector<LaunchMethod> methods, std::size_t above, const char* overhead,
                     const char* problem, const GpuStream& stream, int repetitions, GpuLaunchCosts& result) {
  for (LaunchMethod& method : methods) sample_launches(stream, method.run);
  for (int r = 0; r < std::max(repetitions, least_repetitions); ++r)
    for (LaunchMethod& method : methods) method.samples.push_back(sample_launches(stream, method.run));
  for (const LaunchMethod& method : methods)
    result.costs.push_back({method.impl, method.what, problem, estimate(method.samples)});
  std::vector<double> more;
  for (std::size_t i = 0; i < methods[0].samples.size(); ++i)
    more.push_back(methods[above].samples[i] - methods[0].samples[i]);
  result.costs.push_back({"tilewright", overhead, problem, estimate(more)});
}

}  // namespace

GpuLaunchCosts measure_gpu_launches(int repetitions) {
  GpuLaunchCosts result;
  if (Gpu::count(result.why_none) == 0) return result;
  Launches launches;
  result.device = launches.machine().gpu().limits().name;
  measure_in_turn({{"cuda_driver", "gpu_bare_launch", [&] { launches.bare(); }},
                   {"tilewright", "gpu_plan_launch", [&] { launches.by_plan(); }},
                   {"tilewright", "gpu_api_launch", [&] { launches.by_api(); }},
                   {"cuda_driver", "gpu_graph_launch", [&] { launches.by_graph(); }}},
                  1, "gpu_launch_overhead", measured_problem, launches.stream(), repetitions, result);
  try {
    Products products(launches.machine());
    measure_in_turn({{"cublas", "gemm_direct_call", [&] { products.directly(); }},
                     {"tilewright", "gemm_plan_call", [&] { products.by_plan(); }}},
                    1, "gemm_dispatch_overhead", measured_product, products.stream(), repetitions, result);
  } catch (const Error& error) {
    result.why_no_blas = error.what();
  }
  return result;
}

}  // namespace tilewright::bench
