// Triangular solves of batches in device memory by the library's functions beside cuBLAS's batched routine,
// in turns, as many right sides as rows. Each line of its output is one result as JSON.
//
//     bench_gpu_solves --sizes 200,256,400,512,768,1024 --megabytes 1024 --rounds 7
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "core/dispatch.hpp"
#include "device/gpu/gpu.hpp"
#include "factor_gpu_check.hpp"
#include "factor_gpu_peers.hpp"
#include "tilewright/factor.hpp"

namespace tilewright::experiment {
namespace {

struct SolvesAsked {
  std::vector<int> sizes{200, 256, 400, 512, 768, 1024};
  int megabytes = 1024, rounds = 7, device = 0;
};

SolvesAsked solves_asked_of(int count, char** words) {
  SolvesAsked a;
  for (int i = 1; i < count; i += 2) {
    if (i + 1 == count)
      throw Error(ErrorCode::invalid_argument, words[i], std::string(words[i]) + " needs a value");
    const std::string name = words[i], value = words[i + 1];
    if (name == "--megabytes") {
      a.megabytes = std::stoi(value);
      continue;
    }
    if (name == "--rounds") {
      a.rounds = std::stoi(value);
      continue;
    }
    if (name == "--device") {
      a.device = std::stoi(value);
      continue;
    }
    if (name != "--sizes") throw Error(ErrorCode::invalid_argument, name, name + " is no option");
    a.sizes.clear();
    std::istringstream stream(value);
    for (std::string one; std::getline(stream, one, ',');) a.sizes.push_back(std::stoi(one));
  }
  return a;
}

template <class T>
class SolveRun {
 public:
  SolveRun(const Gpu& gpu, const GpuStream& stream, const VendorPeers& peers, int n, std::int64_t count)
      : gpu_(gpu),
        stream_(stream),
        peers_(peers),
        n_(n),
        count_(count),
        each_(std::int64_t(n) * n),
        a_(gpu, bytes()),
        sides_(gpu, bytes()),
        work_(gpu, bytes()),
        addresses_(gpu, std::size_t(count) * 2 * sizeof(void*)),
        begin_(gpu),
        end_(gpu) {
    const LaneShape p = problem();
    const auto a = made_matrices<T>(p, 1), b = made_sides<T>(p, 1);
    for (std::int64_t i = 0; i < count; ++i)
      a_.write(a.data(), a.size() * sizeof(T), std::size_t(i) * a.size() * sizeof(T)),
          sides_.write(b.data(), b.size() * sizeof(T), std::size_t(i) * b.size() * sizeof(T));
    call_ = {p, count, a_.template as<char>(), work_.template as<char>(), nullptr, nullptr};
    peers_.place(call_, addresses_.template as<void*>());
  }

  void measure(Context& context, int device, int rounds) {
    FactorOptions options;
    options.queue.device = device, options.queue.stream = stream_.get();
    constexpr Location on = Location::device;
    const auto batch = [&](GpuBuffer& x) {
      return strided_batch(column_major<on>(x.template as<T>(), n_, n_), each_, count_);
    };
    const auto ours = [&] {
      trsm_batched(context, Side::left, Uplo::lower, Op::none, Diag::non_unit, T(1), batch(a_), batch(work_),
                   options);
    };
    std::vector<double> own, peer;
    for (int i = 0; i <= rounds; ++i) {
      const double first = seconds(ours),
                   second = seconds([&] {
                     if (!peers_.run(call_))
                       throw Error(ErrorCode::unsupported, "", "cuBLAS's batched trsm was not found");
                   });
      if (i > 0) own.push_back(first), peer.push_back(second);
    }
    seconds(ours);
    fmt::print(R"({{"op": "trsm", "type": "{}", "n": {}, "count": {}, "us": {:.1f}, "cublas_us": {:.1f}, )"
               R"("ratio": {:.3f}, "error_eps": {:.2f}}})"
               "\n",
               sizeof(T) == 8 ? "f64" : "f32", n_, count_, middle(own) * 1e6, middle(peer) * 1e6,
               middle(peer) / middle(own), error());
    std::fflush(stdout);
  }

 private:
  std::size_t bytes() const { return std::size_t(count_ * each_) * sizeof(T); }
  LaneShape problem() const {
    LaneShape p;
    p.routine = Routine::trsm, p.dtype = dtype_of<T>, p.m = p.n = p.nrhs = n_;
    return p;
  }
  static double middle(std::vector<double> all) {
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
  }
  template <class F>
  double seconds(F&& f) {
    if (!peers_.copy(work_.template as<char>(), sides_.template as<char>(), bytes()))
      throw Error(ErrorCode::unsupported, "", "the driver does not copy");
    begin_.record(stream_.get());
    f();
    end_.record(stream_.get());
    end_.synchronize();
    return end_.seconds_since(begin_);
  }
  double error() const {
    std::vector<T> a(static_cast<std::size_t>(each_)), b = a, x = a;
    a_.read(a.data(), a.size() * sizeof(T)), sides_.read(b.data(), b.size() * sizeof(T));
    work_.read(x.data(), x.size() * sizeof(T), bytes() - x.size() * sizeof(T));  // of the last problem
    return most_error<T>(problem(), 1, a, a, b, x, {});
  }

  const Gpu& gpu_;
  const GpuStream& stream_;
  const VendorPeers& peers_;
  int n_;
  std::int64_t count_, each_;
  GpuBuffer a_, sides_, work_, addresses_;
  GpuEvent begin_, end_;
  PeerCall call_;
};

}  // namespace
}  // namespace tilewright::experiment

int main(int count, char** words) try {
  using namespace tilewright;
  using namespace tilewright::experiment;
  std::string command = "bench_gpu_solves";
  for (int i = 1; i < count; ++i) command += std::string(" ") + words[i];
  const SolvesAsked asked = solves_asked_of(count, words);
  const Gpu gpu(asked.device);
  const Gpu::Current current(gpu);
  const GpuStream stream(gpu);
  const VendorPeers peers(true, stream.get());
  Context context;
  fmt::print("{{\"command\": \"{}\"}}\n{{\"device\": \"{}\"}}\n", command, gpu.limits().name);
  for (const DType dtype : {DType::f64, DType::f32})
    for (const int n : asked.sizes)
      dispatch(dtype, [&]<class T>() {
        if constexpr (std::is_floating_point_v<T>) {
          const std::int64_t all = std::int64_t(asked.megabytes) << 20;
          SolveRun<T>(gpu, stream, peers, n,
                      std::max<std::int64_t>(1, all / (2 * std::int64_t(n) * n * std::int64_t(sizeof(T)))))
              .measure(context, asked.device, asked.rounds);
        }
      });
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
