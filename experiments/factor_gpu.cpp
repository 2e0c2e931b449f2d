// Small factorizations and solves in device memory beside the memory bound and the vendor's batched routines,
// and on request all configs of their kernels. Each line of its output is one result as JSON. It needs few
// parts of the library, so that it can be built for a machine that has nothing but a driver and the vendor's
// libraries:
//
//     scripts/factor_gpu_bench factor_gpu
//     factor_gpu --sources src --ops potrf,getrf --types f64 --sizes 4,8,16 --sweep --best 20
//
// The kernels of all problems are compiled first, by several threads.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <thread>

#include "core/dispatch.hpp"
#include "factor/call.hpp"
#include "factor_gpu_check.hpp"
#include "factor_gpu_peers.hpp"
#include "kernel/factor_gpu/space.hpp"
#include "kernel/factor_gpu_large/loader.hpp"

namespace tilewright::experiment {
namespace {

struct Asked {
  std::vector<std::string> ops{"potrf", "getrf", "trsm", "gesv", "posv"}, types{"f64", "f32"};
  std::vector<std::string> sizes{"2", "3", "4", "6", "8", "12", "16", "20", "24", "28", "32"};
  std::string sources = "src", command = "bench_factor_gpu_alone";
  int rounds = 9, megabytes = 1024, device = 0, threads = 8, best = 40, count = 0, nrhs = 0;
  bool sweep = false, peers = true, large = false;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string one; std::getline(stream, one, ',');) parts.push_back(one);
  return parts;
}

Asked asked_of(int count, char** words) {
  Asked a;
  for (int i = 1; i < count; ++i) {
    const std::string name = words[i];
    a.command += " " + name;
    if (name == "--sweep") {
      a.sweep = true;
      continue;
    }
    if (name == "--large") {
      a.large = true;
      continue;
    }
    if (name == "--no-peers") {
      a.peers = false;
      continue;
    }
    if (i + 1 == count) throw Error(ErrorCode::invalid_argument, name, fmt::format("{} needs a value", name));
    const std::string value = words[++i];
    a.command += " " + value;
    if (name == "--ops") a.ops = split(value);
    if (name == "--types") a.types = split(value);
    if (name == "--sizes") a.sizes = split(value);
    if (name == "--sources") a.sources = value;
    if (name == "--rounds") a.rounds = std::stoi(value);
    if (name == "--megabytes") a.megabytes = std::stoi(value);
    if (name == "--count") a.count = std::stoi(value);
    if (name == "--nrhs") a.nrhs = std::stoi(value);
    if (name == "--device") a.device = std::stoi(value);
    if (name == "--best") a.best = std::stoi(value);
    if (name == "--threads") a.threads = std::stoi(value);
  }
  return a;
}

constexpr const char* copy_source = R"(
template <int Threads>
__global__ void __launch_bounds__(Threads) copy_all(const uint4* from, uint4* to, long long count) {
  const long long step = (long long)gridDim.x * Threads;
  for (long long i = blockIdx.x * (long long)Threads + threadIdx.x; i < count; i += step) to[i] = from[i];
}
)";

class Bench {
 public:
  explicit Bench(const Asked& asked)
      : asked_(asked),
        gpu_(asked.device),
        current_(gpu_),
        stream_(gpu_),
        begin_(gpu_),
        end_(gpu_),
        peers_(asked.peers, stream_.get()),
        bytes_(std::size_t(asked.megabytes) << 20),
        original_(gpu_, bytes_),
        work_(gpu_, bytes_),
        ints_(gpu_, std::size_t(asked.megabytes) << 20) {
    fmt::print("{{\"command\": \"{}\"}}\n", asked.command);
    copy_rate_ = double(2 * bytes_) / copy_seconds();
    fmt::print("{{\"device\": \"{}\", \"copy_gbs\": {:.1f}}}\n", gpu_.limits().name, copy_rate_ / 1e9);
  }

  void add(const std::string& op, const std::string& type, int n) {
    problem_ = LaneShape{.routine = enum_from_string<Routine>(op, "op"),
                         .dtype = enum_from_string<DType>(type, "type"),
                         .m = n,
                         .n = n};
    if (problem_.routine == Routine::trsm) problem_.nrhs = n;
    if (problem_.routine == Routine::gesv || problem_.routine == Routine::posv) problem_.nrhs = 1;
    if (asked_.nrhs > 0 && problem_.nrhs > 0) problem_.nrhs = asked_.nrhs;
    place();
    if (n > factor_gpu_limit || asked_.large) {
      add_large();
    } else {
      std::vector<FactorGpuConfig> configs{usual()};
      if (asked_.sweep) add_all(configs);
      for (const FactorGpuConfig& c : configs) add_small(c);
    }
    ++problems_;
  }
  void run() {
    compile();
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& c = candidates_[i];
      const bool is_usual = i == 0 || c.number != candidates_[i - 1].number;
      problem_ = c.problem;
      if (is_usual) prepare();
      if (c.compiled()) measure(c, is_usual);
      const bool is_last = i + 1 == candidates_.size() || candidates_[i + 1].number != c.number;
      if (is_last && peers_.are_there()) measure_peer();
    }
  }

 private:
  // Kernels of a problem, with what is said of them, and what launches them all.
  struct Loaded {
    std::function<void()> launch;
    std::string report;
  };
  struct Candidate {
    int number;  // of its problem
    LaneShape problem;
    std::string config;
    std::vector<StencilRequest> requests;
    std::function<Loaded(const std::vector<JitBinary>&)> load;
    std::vector<JitBinary> binaries{};

    bool compiled() const {
      return std::all_of(binaries.begin(), binaries.end(),
                         [](const JitBinary& b) { return !b.code.empty(); });
    }
  };

  static std::string report_of(const GpuFunction& function) {
    return fmt::format(R"("registers": {}, "local_bytes": {})", function.registers(), function.local_bytes());
  }
  int capability() const { return gpu_.limits().compute_capability; }

  void add_small(const FactorGpuConfig& config) {
    Candidate c{problems_, problem_, to_json(config).dump(), {}, {}};
    c.requests = {factor_gpu_request(shape_, config, problem_.dtype, capability())};
    c.load = [this, config](const std::vector<JitBinary>& binaries) {
      const auto kernel =
          std::make_shared<const FactorGpuKernel>(gpu_, binaries.front(), shape_, config, problem_.dtype);
      return Loaded{[this, kernel] { kernel->launch(call_, stream_.get()); },
                    fmt::format(R"({}, "blocks": {})", report_of(kernel->function()),
                                kernel->blocks_per_multiprocessor())};
    };
    candidates_.push_back(std::move(c));
  }

  // The kernels that give each matrix a block.
  void add_large() {
    const FactorGpuShape shape = factor_large_shape(shape_);
    const FactorLargeRoom room = factor_large_room(gpu_.limits());
    const int n = int(problem_.n);
    std::vector<FactorLargeConfig> factors{
        factor_large_config(factor_large_first(shape), n, n, bytes(), room)};
    std::vector<FactorLargeSolveConfig> solves{
        factor_large_solve_config(factor_large_second(shape), n, int(problem_.nrhs), bytes(), room)};
    if (asked_.sweep && factor_large_factors(shape)) add_configs(shape, factors);
    if (asked_.sweep && !factor_large_factors(shape)) add_configs(shape, solves);
    for (const FactorLargeConfig& f : factors)
      for (const FactorLargeSolveConfig& s : solves) add_large(shape, f, s);
  }
  void add_configs(const FactorGpuShape& shape, std::vector<FactorLargeConfig>& configs) const {
    const FactorLargeConfig usual_one = configs.front();
    const int n = int(problem_.n);
    const FactorGpuShape first = factor_large_first(shape);
    for (const int threads : {64, 128, 256, 512})
      for (const int panel : {16, 24, 32})
        for (const int rows : {2, 4, 8})
          for (const int cols : {2, 4, 8})
            for (const bool shared : {false, true}) {
              const FactorLargeConfig c{threads, panel, rows, cols, shared};
              const bool is_odd =
                  rows * cols > 32 || rows * cols < 8 || rows < 4 || (threads > 2 * n) || threads * 8 < n;
              if (is_odd || 2 * panel > threads || c == usual_one) continue;
              const int total = factor_large_memory(first, c, n, n, bytes()).total;
              if (total <= gpu_.limits().shared_bytes_per_block) configs.push_back(c);
            }
  }
  void add_configs(const FactorGpuShape& shape, std::vector<FactorLargeSolveConfig>& configs) const {
    const FactorLargeSolveConfig usual_one = configs.front();
    const FactorGpuShape second = factor_large_second(shape);
    for (const int threads : {32, 64, 128, 256})
      for (const int sides : {1, 2, 4, 8, 16, 32}) {
        const FactorLargeSolveConfig c{threads, sides};
        if ((sides > 4 && sides % (threads / 32) != 0) || c == usual_one) continue;
        const int total = factor_large_solve_memory(c, second.exchanges, int(problem_.n), bytes()).total;
        if (total <= gpu_.limits().shared_bytes_per_block) configs.push_back(c);
      }
  }
  void add_large(const FactorGpuShape& shape, const FactorLargeConfig& factor,
                 const FactorLargeSolveConfig& solve) {
    const bool factors = factor_large_factors(shape), solves = factor_gpu_has_b(shape);
    Candidate c{problems_, problem_, "", {}, {}};
    const auto add = [&](const auto& of, const auto& config) {
      c.config += (c.config.empty() ? "" : ", \"solve\": ") + to_json(config).dump();
      c.requests.push_back(factor_large_request(of, config, problem_.dtype, capability()));
    };
    if (factors) add(factor_large_first(shape), factor);
    if (solves) add(factor_large_second(shape), solve);
    c.load = [=, this](const std::vector<JitBinary>& binaries) {
      std::shared_ptr<const FactorLargeKernel> first, second;
      if (factors)
        first = std::make_shared<const FactorLargeKernel>(gpu_, binaries.front(), factor_large_first(shape),
                                                          factor, problem_.dtype);
      if (solves)
        second = std::make_shared<const FactorLargeKernel>(gpu_, binaries.back(), factor_large_second(shape),
                                                           solve, problem_.dtype);
      return Loaded{[=, this] { launch_large(first.get(), second.get()); },
                    report_of((factors ? first : second)->function())};
    };
    candidates_.push_back(std::move(c));
  }
  void launch_large(const FactorLargeKernel* factor, const FactorLargeKernel* solve) {
    FactorLargeCall call;
    call.a = call_.a, call.b = call_.b, call.count = count_, call.nrhs = problem_.nrhs;
    call.info = call_.info, call.pivots = call_.pivots;
    if (factor != nullptr && solve != nullptr) {
      const std::size_t needed = std::size_t(count_ * elements_a() * bytes());
      if (factors_ == nullptr || factors_bytes_ < needed)
        factors_ = std::make_unique<GpuBuffer>(gpu_, needed), factors_bytes_ = needed;
      call.factors = call_.a, call.factors.data = factors_->as<char>(), call.codes = call_.info;
    }
    if (factor != nullptr) factor->launch(call, stream_.get());
    if (factor != nullptr && solve != nullptr) call.a = call.factors;
    if (solve != nullptr) solve->launch(call, stream_.get());
  }

  int bytes() const { return int(size_bytes(problem_.dtype)); }
  std::int64_t elements_a() const { return problem_.n * problem_.n; }
  std::int64_t elements_b() const { return problem_.n * problem_.nrhs; }

  // Finds the places of the problem's operands and its shape.
  void place() {
    count_ = std::int64_t(bytes_) / ((elements_a() + elements_b()) * bytes()) / 64 * 64;
    if (asked_.count > 0) count_ = std::min<std::int64_t>(count_, asked_.count);
    call_ = {};
    call_.count = count_;
    call_.a = {work_.as<char>(), nullptr, problem_.n, problem_.n, 1, problem_.n, elements_a(), 0, 0};
    offset_b_ = std::size_t(count_ * elements_a() * bytes());
    call_.b = {
        work_.as<char>(offset_b_), nullptr, problem_.n, problem_.nrhs, 1, problem_.n, elements_b(), 0, 0};
    call_.info = ints_.as<int>(), call_.pivots = ints_.as<int>(std::size_t(count_) * sizeof(int));
    shape_ = factor_gpu_shape_of(problem_, call_, false);
  }
  void prepare() {
    place();
    dispatch(problem_.dtype, [&]<class T>() {
      const auto a = made_matrices<T>(problem_, samples()), b = made_sides<T>(problem_, samples());
      fill(0, a, count_ * elements_a());
      if (!b.empty()) fill(offset_b_, b, count_ * elements_b());
    });
  }
  // Repeats the samples over the batch.
  template <class T>
  void fill(std::size_t offset, const std::vector<T>& from, std::int64_t elements) {
    const std::size_t all = std::size_t(elements) * sizeof(T);
    const std::size_t once = std::min(all, from.size() * sizeof(T));
    original_.write(from.data(), once, offset);
    for (std::size_t done = once; done < all;) {
      std::size_t more = std::min(done, all - done);
      if (!peers_.copy(original_.as<char>(offset + done), original_.as<char>(offset), more)) {
        more = std::min(once, all - done);
        original_.write(from.data(), more, offset + done);
      }
      done += more;
    }
  }

  FactorGpuConfig usual() const {
    return factor_gpu_config(shape_, bytes(), is_complex(problem_.dtype), factor_gpu_room(gpu_.limits()));
  }
  // Adds the configs that the cost model puts first, with the registers that it expects.
  void add_all(std::vector<FactorGpuConfig>& configs) const {
    const FactorGpuRoom room = factor_gpu_room(gpu_.limits());
    std::vector<FactorGpuConfig> all =
        factor_gpu_space(shape_, problem_.dtype, gpu_.limits())
            .restrict_axis("blocks_per_sm", [](const FactorGpuConfig& c) { return c.blocks_per_sm == 1; })
            .enumerate();
    const auto cycles = [&](const FactorGpuConfig& c) {
      return factor_gpu_cycles(shape_, c, bytes(), is_complex(problem_.dtype), room);
    };
    std::stable_sort(all.begin(), all.end(),
                     [&](const auto& x, const auto& y) { return cycles(x) < cycles(y); });
    // The model has seen no measurement of those that go directly: all are tried by blocks of one size.
    constexpr int direct_warps = 8, most_registers = 168;
    std::size_t others = 0;
    std::vector<FactorGpuConfig> tried;
    for (const FactorGpuConfig& c : all)
      if (c.direct > 0 ? c.warps == direct_warps && factor_gpu_registers(shape_, c, bytes()) <= most_registers
                       : others++ < std::size_t(asked_.best))
        tried.push_back(c);
    for (FactorGpuConfig& c : tried) {
      c.blocks_per_sm = factor_gpu_least_blocks(shape_, c, bytes(), room);
      if (!(c == configs.front())) configs.push_back(c);
    }
  }

  // Kernels that several candidates share are compiled once.
  void compile() {
    std::map<std::string, std::pair<StencilRequest, JitBinary>> all;
    for (const Candidate& c : candidates_)
      for (const StencilRequest& request : c.requests)
        all.emplace(request.expressions.front(), std::pair{request, JitBinary{}});
    std::vector<std::pair<StencilRequest, JitBinary>*> list;
    for (auto& [name, one] : all) list.push_back(&one);
    std::atomic<std::size_t> next{0};
    std::vector<std::thread> workers;
    for (int t = 0; t < asked_.threads; ++t)
      workers.emplace_back([&] {
        for (std::size_t i; (i = next++) < list.size();) try {
            const StencilRequest& request = list[i]->first;
            list[i]->second = compiler_.compile({fmt::format("#include \"{}\"\n", request.header),
                                                 "kernel.cu",
                                                 request.expressions,
                                                 {"--std=c++20", "-default-device", "-I" + asked_.sources,
                                                  fmt::format("-arch={}", architecture_of(gpu_.limits()))}});
          } catch (const Error& error) {
            fmt::print(stderr, "{}\n", error.what());
          }
      });
    for (std::thread& one : workers) one.join();
    for (Candidate& c : candidates_)
      for (const StencilRequest& request : c.requests)
        c.binaries.push_back(all.at(request.expressions.front()).second);
  }

  void restore() {
    if (peers_.copy(work_.as<char>(), original_.as<char>(), bytes_)) return;
    std::vector<char> all(bytes_);
    original_.read(all.data(), bytes_), work_.write(all.data(), bytes_);
  }
  template <class F>
  double median_seconds(bool restores, F&& f) {
    std::vector<double> seconds;
    for (int i = 0; i <= asked_.rounds; ++i) {
      if (restores) restore();
      begin_.record(stream_.get());
      f();
      end_.record(stream_.get());
      end_.synchronize();
      if (i > 0) seconds.push_back(end_.seconds_since(begin_));
    }
    std::nth_element(seconds.begin(), seconds.begin() + std::ptrdiff_t(seconds.size() / 2), seconds.end());
    return seconds[seconds.size() / 2];
  }
  double copy_seconds() {
    const JitBinary binary =
        compiler_.compile({copy_source,
                           "copy.cu",
                           {"copy_all<512>"},
                           {"--std=c++20", fmt::format("-arch={}", architecture_of(gpu_.limits()))}});
    const GpuModule module(gpu_, binary.code);
    const GpuFunction function = module.function(binary.function(), 0);
    const void *from = original_.as<char>(), *to = work_.as<char>();
    long long count = static_cast<long long>(bytes_ / 16);
    void* parameters[] = {&from, &to, &count};
    const GpuLaunch launch{unsigned(gpu_.limits().multiprocessors * 4), 512, 0};
    return median_seconds(false, [&] { function.launch_with(launch, parameters, stream_.get()); });
  }

  double error(bool is_usual) {
    double most = 0;
    const std::int64_t few = problem_.n <= 128 ? 2 : 0;  // of other configs: the host takes seconds
    const std::int64_t some = std::min({samples(), count_, is_usual ? samples() : few});
    dispatch(problem_.dtype, [&]<class T>() {
      std::vector<T> a(std::size_t(some * elements_a())), b(std::size_t(some * elements_b())), a_was = a,
                                                                                               b_was = b;
      std::vector<int> pivots(std::size_t(some * problem_.n));
      work_.read(a.data(), a.size() * sizeof(T)), original_.read(a_was.data(), a.size() * sizeof(T));
      if (!b.empty()) work_.read(b.data(), b.size() * sizeof(T), offset_b_);
      if (!b.empty()) original_.read(b_was.data(), b.size() * sizeof(T), offset_b_);
      ints_.read(pivots.data(), pivots.size() * sizeof(int), std::size_t(count_) * sizeof(int));
      most = most_error<T>(problem_, some, a_was, a, b_was, b, pivots);
    });
    return most;
  }

  void measure(const Candidate& c, bool is_usual) try {
    const Loaded loaded = c.load(c.binaries);
    const double seconds = median_seconds(true, loaded.launch);
    print(seconds, fmt::format(R"("usual": {}, "config": {}, {}, "error_eps": {:.2f})", is_usual, c.config,
                               loaded.report, error(is_usual)));
  } catch (const Error& error) {
    fmt::print(stderr, "{}: {}\n", c.config, error.what());
  }
  void measure_peer() {
    PeerCall call{problem_, count_, work_.as<char>(), work_.as<char>(offset_b_), call_.pivots, call_.info};
    const GpuBuffer addresses(gpu_, std::size_t(count_) * 2 * sizeof(void*));
    peers_.place(call, addresses.as<void*>());
    bool served = true;
    const double seconds = median_seconds(true, [&] { served = peers_.run(call) && served; });
    if (served) print(seconds, R"("peer": "vendor")");
  }
  void print(double seconds, const std::string& rest) const {
    const double moved = factor_gpu_bytes(shape_, bytes()) * double(count_) / seconds;
    const double whole = (double(elements_a()) * (shape_.writes_a ? 2 : 1) + 2.0 * double(elements_b())) *
                         bytes() * double(count_) / seconds;
    fmt::print(
        R"({{"op": "{}", "type": "{}", "n": {}, "count": {}, "us": {:.2f}, "gbs": {:.1f}, "share": {:.4f}, )"
        R"("share_of_whole_matrices": {:.4f}, {}}})"
        "\n",
        to_string(problem_.routine), to_string(problem_.dtype), problem_.n, count_, seconds * 1e6,
        moved / 1e9, moved / copy_rate_, whole / copy_rate_, rest);
    std::fflush(stdout);
  }

  // Different matrices of a batch, fewer of large ones.
  std::int64_t samples() const {
    return std::clamp<std::int64_t>(20'000'000 / (problem_.n * problem_.n * problem_.n), 2, 1000);
  }
  Asked asked_;
  Gpu gpu_;
  Gpu::Current current_;
  GpuStream stream_;
  GpuEvent begin_, end_;
  Nvrtc compiler_;
  VendorPeers peers_;
  std::size_t bytes_;
  GpuBuffer original_, work_, ints_;
  double copy_rate_ = 0;
  std::vector<Candidate> candidates_;
  int problems_ = 0;
  LaneShape problem_;
  FactorGpuShape shape_;
  FactorGpuCall call_;
  std::int64_t count_ = 0;
  std::size_t offset_b_ = 0, factors_bytes_ = 0;
  std::unique_ptr<GpuBuffer> factors_;
};

}  // namespace
}  // namespace tilewright::experiment

int main(int count, char** words) try {
  using namespace tilewright::experiment;
  const Asked asked = asked_of(count, words);
  Bench bench(asked);
  for (const std::string& op : asked.ops)
    for (const std::string& type : asked.types)
      for (const std::string& n : asked.sizes) bench.add(op, type, std::stoi(n));
  bench.run();
} catch (const std::exception& error) {
  fmt::print(stderr, "factor_gpu: {}\n", error.what());
  return 1;
}
