// bench_lu: LU of matrices in device memory beside both calls of cuSOLVER, alternately in the same rounds,
// after its factors have been checked against the matrix. `--panels` times the panel kernel alone.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

#include "bench/provenance.hpp"
#include "core/dispatch.hpp"
#include "core/env.hpp"
#include "core/estimate.hpp"
#include "device/gpu/copies.hpp"
#include "device/gpu/solver.hpp"
#include "experiment.hpp"
#include "lu/device/schedule.hpp"
#include "lu/device/system.hpp"

namespace tilewright {
namespace {

struct Options {
  std::string sizes = "1000,2000,4000,6000,8000,10000", dtype = "f64", json;
  std::int64_t nb = 0;
  int rounds = 7;
  bool panels = false;
  std::string systems;  // numbers of right-hand sides
  int room = LuTools::default_room;
  std::string configs;  // of panels: "16,256,1,32;..."
};

template <class T>
std::vector<T> random_matrix(std::int64_t m, std::int64_t n) {
  std::vector<T> a(std::size_t(m * n));
  std::mt19937_64 random(std::uint64_t(m * 7919 + n));
  std::uniform_real_distribution<double> uniform(-0.5, 0.5);
  for (T& x : a)
    if constexpr (is_complex(dtype_of<T>))
      x = T(typename T::value_type(uniform(random)), typename T::value_type(uniform(random)));
    else
      x = T(uniform(random));
  return a;
}

// Returns ||P A x - L U x|| / (||A x|| n eps) for one random x.
template <class T>
double residual(std::int64_t m, std::int64_t n, const std::vector<T>& a, const std::vector<T>& lu,
                const std::vector<long long>& pivots) {
  using R = decltype(std::abs(T()));
  const std::int64_t r = std::min(m, n);
  const std::vector<T> x = random_matrix<T>(n, 1);
  std::vector<T> left(std::size_t(m), T(0)), u(std::size_t(r), T(0)), right(std::size_t(m), T(0));
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i) {
      left[std::size_t(i)] += a[std::size_t(i + j * m)] * x[std::size_t(j)];
      if (i <= std::min(j, r - 1)) u[std::size_t(i)] += lu[std::size_t(i + j * m)] * x[std::size_t(j)];
    }
  for (std::int64_t j = 0; j < r; ++j) {
    std::swap(left[std::size_t(j)], left[std::size_t(pivots[std::size_t(j)] - 1)]);
    right[std::size_t(j)] += u[std::size_t(j)];
    for (std::int64_t i = j + 1; i < m; ++i)
      right[std::size_t(i)] += lu[std::size_t(i + j * m)] * u[std::size_t(j)];
  }
  double off = 0, size = 0;
  for (std::int64_t i = 0; i < m; ++i) {
    off = std::max(off, double(std::abs(left[std::size_t(i)] - right[std::size_t(i)])));
    size = std::max(size, double(std::abs(left[std::size_t(i)])));
  }
  return off / (size * double(n) * std::numeric_limits<R>::epsilon());
}

template <class T>
class LuCase {
 public:
  LuCase(const Gpu& gpu, const StencilCompiler& compiler, std::int64_t m, std::int64_t n,
         const Options& options)
      : gpu_(gpu),
        m_(m),
        n_(n),
        host_(random_matrix<T>(m, n)),
        original_(gpu, bytes()),
        a_(gpu, bytes()),
        pivots_(gpu, std::size_t(std::min(m, n)) * 8),
        info_(gpu, 8),
        tools_(std::make_shared<LuTools>(gpu, compiler, options.room)),
        ours_(tools_, {dtype_of<T>, m, n, m, options.nb},
              {default_node(1, {gpu.limits().name}).gpus[0].gemm[std::size_t(dtype_of<T>)]}),
        workspace_(gpu, std::size_t(ours_.workspace_bytes())),
        stream_(gpu) {
    original_.write(host_.data(), bytes());
    solver_.set_stream(stream_.get());
    old_work_ = std::make_unique<GpuBuffer>(
        gpu, std::max<std::size_t>(
                 256, std::size_t(solver_.getrf_elements(dtype_of<T>, m, n, a_.as<void>(), m)) * sizeof(T)));
    new_sizes_ = solver_.xgetrf_workspace(dtype_of<T>, m, n, a_.as<void>(), m);
    new_work_ = std::make_unique<GpuBuffer>(gpu, std::max<std::size_t>(256, new_sizes_.device_bytes));
    host_work_.resize(new_sizes_.host_bytes + 1);
  }

  void tested() {
    ours_.factor({a_.as<void>(), pivots_.as<long long>(), info_.as<long long>(), workspace_.as<void>()},
                 stream_.get());
  }
  void old_call() {
    solver_.getrf(dtype_of<T>, m_, n_, a_.as<void>(), m_, old_work_->as<void>(), pivots_.as<int>(),
                  info_.as<int>());
  }
  void new_call() {
    solver_.xgetrf(dtype_of<T>, m_, n_, a_.as<void>(), m_, pivots_.as<std::int64_t>(), new_sizes_,
                   new_work_->as<void>(), host_work_.data(), info_.as<int>());
  }

  // Returns the seconds of a call on a matrix that is copied from its original before.
  template <class F>
  double seconds(F&& f) {
    return seconds(a_, original_, f);
  }
  template <class F>
  double seconds(const GpuBuffer& to, const GpuBuffer& from, F&& f) {
    const Gpu::Current current(gpu_);
    queue_from_peer(gpu_, to.as<void>(), gpu_, from.as<void>(), from.bytes(), stream_.get());
    GpuEvent begin(gpu_), end(gpu_);
    begin.record(stream_.get());
    f();
    end.record(stream_.get());
    end.synchronize();
    return end.seconds_since(begin);
  }

  nlohmann::json check() {
    seconds([&] { tested(); });
    std::vector<T> lu(host_.size());
    std::vector<long long> pivots(std::size_t(std::min(m_, n_))), theirs(pivots.size());
    long long info = 0;
    a_.read(lu.data(), bytes());
    pivots_.read(pivots.data(), pivots.size() * 8);
    info_.read(&info, 8);
    bool pivots_valid = true;
    for (std::size_t j = 0; j < pivots.size(); ++j)
      pivots_valid = pivots_valid && pivots[j] > std::int64_t(j) && pivots[j] <= m_;
    seconds([&] { new_call(); });
    pivots_.read(theirs.data(), theirs.size() * 8);
    std::int64_t first = -1;
    for (std::size_t j = 0; j < pivots.size() && first < 0; ++j)
      if (pivots[j] != theirs[j]) first = std::int64_t(j);
    nlohmann::json row{{"info", info}, {"pivots_valid", pivots_valid}, {"first_other_pivot", first}};
    row["residual"] = pivots_valid ? nlohmann::json(residual(m_, n_, host_, lu, pivots)) : nlohmann::json();
    return row;
  }

  // Measures solving: seconds of both, and the distance of the solutions.
  nlohmann::json solve(std::int64_t nrhs, Op op, int rounds) {
    seconds([&] { new_call(); });  // its pivots have the type that this library uses
    DeviceLuSystem system(tools_, {dtype_of<T>, op, n_, nrhs, m_, n_});
    GpuBuffer workspace(gpu_, std::size_t(system.workspace_bytes())),
        b(gpu_, std::size_t(n_ * nrhs) * sizeof(T)), x(gpu_, b.bytes());
    const std::vector<T> right = random_matrix<T>(n_, nrhs);
    b.write(right.data(), b.bytes());
    const auto tested = [&] {
      system.solve({a_.as<void>(), pivots_.as<long long>(), x.as<void>(), workspace.as<void>()},
                   stream_.get());
    };
    const auto theirs = [&] {
      solver_.xgetrs(dtype_of<T>, op, n_, nrhs, a_.as<void>(), m_, pivots_.as<std::int64_t>(), x.as<void>(),
                     n_, info_.as<int>());
    };
    std::vector<double> all[2];
    std::vector<T> solutions[2] = {right, right};
    for (int i = 0; i < rounds + 1; ++i)
      for (const int who : {0, 1}) {
        const double s = who == 0 ? seconds(x, b, tested) : seconds(x, b, theirs);
        if (i > 0) all[who].push_back(s);
        if (i == 0) x.read(solutions[who].data(), x.bytes());
      }
    double off = 0, size = 0;
    for (std::size_t i = 0; i < right.size(); ++i) {
      off = std::max(off, double(std::abs(solutions[0][i] - solutions[1][i])));
      size = std::max(size, double(std::abs(solutions[1][i])));
    }
    return {{"nrhs", nrhs},
            {"op", to_string(op)},
            {"ours_s", median(all[0])},
            {"xgetrs_s", median(all[1])},
            {"ratio", median(all[1]) / median(all[0])},
            {"difference", off / size}};
  }

  nlohmann::json run(int rounds) {
    nlohmann::json row = check();
    std::vector<double> all[3];
    for (int i = 0; i < rounds; ++i) {
      all[0].push_back(seconds([&] { tested(); }));
      all[1].push_back(seconds([&] { old_call(); }));
      all[2].push_back(seconds([&] { new_call(); }));
    }
    row["ours_s"] = median(all[0]), row["getrf_s"] = median(all[1]), row["xgetrf_s"] = median(all[2]);
    row["ours_high_s"] = *std::max_element(all[0].begin(), all[0].end());
    row["ratio"] = std::min(median(all[1]), median(all[2])) / median(all[0]);
    row["cusolver"] = solver_.version(), row["part"] = tools_->part();
    return row;
  }

 private:
  std::size_t bytes() const { return std::size_t(m_ * n_) * sizeof(T); }

  const Gpu& gpu_;
  std::int64_t m_, n_;
  std::vector<T> host_;
  GpuBuffer original_, a_, pivots_, info_;
  std::shared_ptr<LuTools> tools_;
  DeviceLu ours_;
  GpuBuffer workspace_;
  GpuStream stream_;
  GpuSolver solver_;
  std::unique_ptr<GpuBuffer> old_work_, new_work_;
  GpuSolver::Workspace new_sizes_;
  std::vector<char> host_work_;
};

// Parses "16,256,1,32;1,256,2,32,global", or returns the default config.
std::vector<LuPanelConfig> configs_of(const Options& options, std::int64_t m, DType dtype, const Gpu& gpu) {
  std::vector<LuPanelConfig> all;
  std::stringstream list(options.configs);
  for (std::string one; std::getline(list, one, ';');) {
    LuPanelConfig c;
    char comma = 0;
    std::stringstream fields(one);
    fields >> c.cluster >> comma >> c.threads >> comma >> c.rows >> comma >> c.width;
    char kind = 0;
    if (fields >> comma >> kind && kind == 'g') c.exchange = LuExchange::global;
    const std::int64_t most = lu_panel_most_rows(c, gpu.limits());
    if (most >= m && (most < 4 * m || lu_panel_is_global(c))) all.push_back(c);
  }
  if (options.configs.empty()) all.push_back(lu_panel_default(m, dtype, gpu.limits()));
  return all;
}

// Returns microseconds of one panel of a kernel's whole width, and of one column of it.
template <class T>
nlohmann::json time_panel(const Gpu& gpu, const StencilCompiler& compiler, std::int64_t m,
                          const LuPanelConfig& config, int rounds) {
  const GpuLuPanel panel(
      gpu, compiler.compile(lu_panel_request(dtype_of<T>, config, gpu.limits().compute_capability)),
      dtype_of<T>, config);
  const std::vector<T> host = random_matrix<T>(m, config.width);
  GpuBuffer a(gpu, host.size() * sizeof(T)), pivots(gpu, 8 * 64), moves(gpu, 4096), info(gpu, 8);
  info.fill(0, nullptr);
  GpuBuffer exchange(
      gpu, std::size_t(std::max<long long>(32, lu_panel_exchange_bytes(config, int(m), int(sizeof(T))))));
  exchange.fill(0, nullptr);
  GpuStream stream(gpu);
  double us[2];
  for (const std::int64_t columns : {std::int64_t(1), std::int64_t(config.width)}) {
    std::vector<double> all;
    for (int i = 0; i < rounds + 1; ++i) {
      a.write(host.data(), host.size() * sizeof(T));
      GpuEvent begin(gpu), end(gpu);
      const LuPanelOperands o{a.as<void>(),
                              m,
                              int(m),
                              int(columns),
                              0,
                              pivots.as<long long>(),
                              moves.as<int>(),
                              info.as<long long>(),
                              0,
                              exchange.as<char>()};
      begin.record(stream.get());
      panel.launch(o, stream.get());
      end.record(stream.get());
      end.synchronize();
      if (i > 0) all.push_back(end.seconds_since(begin));
    }
    us[columns > 1] = median(all) * 1e6;
  }
  return {{"panel_rows", m},
          {"config", to_json(config)},
          {"registers", panel.registers()},
          {"spilled_bytes", panel.spilled_bytes()},
          {"us", us[1]},
          {"us_per_column", (us[1] - us[0]) / (config.width - 1)}};
}

int run(const Options& options) {
  const Gpu gpu(0);
  const StencilCompiler compiler(share_folder(Environment::read(), "kernel"), bench::kernel_cache());
  std::ofstream file(options.json);
  const auto tell = [&](nlohmann::json row) {
    row["device"] = gpu.limits().name;
    row["dtype"] = options.dtype;
    fmt::print("{}\n", row.dump());
    std::fflush(stdout);
    file << row.dump() << std::endl;
  };
  tell({{"command", command_line()}});
  dispatch(enum_from_string<DType>(options.dtype, "--dtype"), [&]<class T>() {
    std::string list = options.sizes + ",";
    for (std::size_t begin = 0, end; (end = list.find(',', begin)) != std::string::npos; begin = end + 1) {
      const std::string text = list.substr(begin, end - begin);
      const std::size_t cross = text.find('x');
      const std::int64_t m = std::stoll(text),
                         n = cross == std::string::npos ? m : std::stoll(text.substr(cross + 1));
      if (options.panels) {
        for (const LuPanelConfig& config : configs_of(options, m, dtype_of<T>, gpu))
          tell(time_panel<T>(gpu, compiler, m, config, options.rounds));
        continue;
      }
      try {
        if (!options.systems.empty()) {
          LuCase<T> one(gpu, compiler, m, n, options);
          std::stringstream counts(options.systems);
          for (std::string nrhs; std::getline(counts, nrhs, ',');)
            for (const Op op : {Op::none, Op::trans}) {
              nlohmann::json row = one.solve(std::stoll(nrhs), op, options.rounds);
              row["n"] = n;
              tell(std::move(row));
            }
          continue;
        }
        nlohmann::json row = LuCase<T>(gpu, compiler, m, n, options).run(options.rounds);
        row["m"] = m, row["n"] = n, row["nb"] = options.nb;
        tell(std::move(row));
      } catch (const Error& error) {
        tell({{"m", m}, {"n", n}, {"error", error.what()}});
      }
    }
  });
  return 0;
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  CLI::App app("bench_lu: LU in device memory beside cuSOLVER");
  tilewright::Options options;
  app.add_option("--sizes", options.sizes, "n or MxN, separated by commas");
  app.add_option("--dtype", options.dtype);
  app.add_option("--nb", options.nb, "columns of a block (default: a rule of thumb's)");
  app.add_option("--rounds", options.rounds);
  app.add_option("--room", options.room, "multiprocessors that updates leave to panels; 0: none");
  app.add_option("--systems", options.systems, "solves with so many right-hand sides instead: 1,1000");
  app.add_option("--json", options.json);
  app.add_option("--configs", options.configs, "of panels: cluster,threads,rows,width[,global];...");
  app.add_flag("--panels", options.panels, "one panel of so many rows alone");
  return tilewright::bench::parse_and_run(app, argc, argv, [&] { return tilewright::run(options); });
}
