// This machine: experiments on the host, and the GPUs that take part.
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <thread>

#include "core/dispatch.hpp"
#include "core/env.hpp"
#include "device/cblas.hpp"
#include "device/cpu.hpp"
#include "device/numa.hpp"
#include "measure/buffers.hpp"
#include "measure/clock.hpp"
#include "measure/streaming.hpp"
#include "tilewright/gemm.hpp"
#include "tune/calibrate/machine.hpp"

#if TILEWRIGHT_HAS_GPU
#include "device/gpu/gpu.hpp"
#include "tune/calibrate/gpu_experiments.hpp"
#endif

namespace tilewright {
namespace {

constexpr std::int64_t line = 64;
constexpr std::int64_t gibi = 1 << 30;
constexpr std::int64_t most_host_bytes = 16 * gibi;  // a container may have less than the nodes report
constexpr std::int64_t source_bytes = gibi / 4;      // walked by copies, so that none finds a warm cache

CalibratedHost described_host() {
  CalibratedHost host;
  host.device = cpu_info().device;
  const CblasLibrary blas(Environment::read().cblas);
  host.blas = blas.available() ? blas.name() : "";
  host.blas_version = blas.version();
  host.threads = omp_get_max_threads();
  for (const NumaNode& node : numa_nodes()) host.memory_bytes += node.memory_bytes;
  host.memory_bytes = std::min(host.memory_bytes > 0 ? host.memory_bytes : most_host_bytes, most_host_bytes);
  return host;
}

// Begin and size of the part of thread t.
std::pair<std::int64_t, std::int64_t> part_of(std::int64_t bytes, int t, int threads) {
  const std::int64_t lines = (bytes + line - 1) / line;
  const std::int64_t begin = lines * t / threads * line, end = lines * (t + 1) / threads * line;
  return {begin, std::min(end, bytes) - begin};
}

void copy_by(int threads, std::byte* to, const std::byte* from, std::int64_t bytes) {
#pragma omp parallel num_threads(threads)
  {
    const auto [begin, count] = part_of(bytes, omp_get_thread_num(), omp_get_num_threads());
    if (count > 0) std::memcpy(to + begin, from + begin, std::size_t(count));
  }
}

// Memory with random elements of one type, whose pages lie near the threads that use them.
class FilledMemory {
 public:
  std::byte* prepare(std::int64_t bytes, DType dtype) {
    if (memory_.bytes() >= bytes && dtype == filled_) return memory_.data();
    if (memory_.bytes() < bytes) {
      memory_ = AlignedBuffer();
      memory_ = AlignedBuffer(bytes);
    }
    constexpr std::int64_t pattern_bytes = 1 << 20;
    AlignedBuffer pattern(pattern_bytes);
    fill(pattern.data(), pattern_bytes / size_bytes(dtype), dtype, Data::uniform, 1);
    const std::int64_t patterns = (memory_.bytes() + pattern_bytes - 1) / pattern_bytes;
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < patterns; ++i)
      std::memcpy(memory_.data() + i * pattern_bytes, pattern.data(),
                  std::size_t(std::min(pattern_bytes, memory_.bytes() - i * pattern_bytes)));
    filled_ = dtype;
    return memory_.data();
  }

 private:
  AlignedBuffer memory_;
  DType filled_ = DType::f64;
};

class RealMachine : public CalibrationMachine {
 public:
  RealMachine(Context& context, const std::optional<std::vector<int>>& gpus)
      : context_(context), host_(described_host()) {
    options_.target = Target::cpu;
    // The library that the record names, for small sizes too; without one, the plan chooses.
    if (!host_.blas.empty()) options_.candidate = "host_blas";
    open_gpus(gpus);
  }

  const CalibratedHost& host() const override { return host_; }
  std::string why_no_gpus() const override { return why_no_gpus_; }
  double now() override { return wall_seconds(); }

#if TILEWRIGHT_HAS_GPU
  const std::vector<CalibratedGpu>& gpus() const override { return gpus_ ? gpus_->gpus() : none_; }
  bool reaches(int gpu, int peer) const override { return gpus_ && gpus_->reaches(gpu, peer); }
  void prepare(const std::vector<Experiment>& products) override {
    if (gpus_) gpus_->prepare(context_, products);
  }
#else
  const std::vector<CalibratedGpu>& gpus() const override { return none_; }
  bool reaches(int, int) const override { return false; }
#endif

  double seconds(const Experiment& e) override {
    const bool on_host = e.gpu < 0 && e.beside == Beside::nothing;
    if (on_host && e.work == TimedWork::start_threads) return start_threads(e.threads);
    if (on_host && e.work == TimedWork::stream) return pass(e.bytes, e.threads);
    if (on_host && e.work == TimedWork::host_copy) return copy(e.bytes, e.threads);
    if (on_host && e.work == TimedWork::host_gemm) return product(e);
    return on_gpu(e);
  }

 private:
  static double start_threads(int count) {
    const double begin = wall_seconds();
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back([] {});
    for (std::thread& one : threads) one.join();
    return wall_seconds() - begin;
  }

  // The fastest kind of stream that reads two arrays and writes one.
  double pass(std::int64_t bytes, int threads) {
    const std::int64_t part = bytes / 3 / line * line;
    std::byte* data = operands_.prepare(3 * part, DType::f64);
    const StreamOperands arrays{data, part, data + part, part, data + 2 * part, part, false};
    double best = std::numeric_limits<double>::infinity();
    for (const Stream kind : stream_kinds(false)) {
      const double begin = wall_seconds();
      stream(arrays, kind, threads);
      best = std::min(best, wall_seconds() - begin);
    }
    return best;
  }

  double copy(std::int64_t bytes, int threads) {
    const std::byte* from = source_.prepare(std::max(source_bytes, bytes), DType::f64);
    if (next_ + bytes > std::max(source_bytes, bytes)) next_ = 0;
    auto* to = static_cast<std::byte*>(target_of_copies(bytes));
    const double begin = wall_seconds();
    copy_by(threads, to, from + next_, bytes);
    const double seconds = wall_seconds() - begin;
    next_ += bytes;
    return seconds;
  }

  double product(const Experiment& e) {
    return dispatch(e.dtype, [&]<class T>() {
      const std::int64_t b_at = e.m * e.k, c_at = b_at + e.k * e.n;
      auto* data =
          reinterpret_cast<T*>(operands_.prepare((c_at + e.m * e.n) * std::int64_t(sizeof(T)), e.dtype));
      const double begin = wall_seconds();
      gemm<T>(context_, Op::none, Op::none, T(1), {data, e.m, e.k, e.m}, {data + b_at, e.k, e.n, e.k}, T(1),
              {data + c_at, e.m, e.n, e.m}, options_);
      return wall_seconds() - begin;
    });
  }

#if TILEWRIGHT_HAS_GPU
  void open_gpus(const std::optional<std::vector<int>>& asked) {
    std::vector<int> devices = asked.value_or(std::vector<int>{});
    const int count = Gpu::count(why_no_gpus_);
    for (int device = 0; !asked && device < count; ++device) {
      const std::string too_old = why_too_old(Gpu::limits_of(device));
      if (too_old.empty()) devices.push_back(device);
      why_no_gpus_ = too_old;
    }
    if (asked && asked->empty()) why_no_gpus_ = "none was requested";
    if (devices.empty()) return;
    gpus_ = std::make_unique<GpuExperiments>(devices);
    why_no_gpus_.clear();
  }
  double on_gpu(const Experiment& e) {
    if (!gpus_) throw Error(ErrorCode::unsupported, "gpus", why_no_gpus_);
    if (e.beside == Beside::host_product) return gpus_->transfer_beside(e, [&] { product(e); });
    if (e.gpu < 0 && e.beside == Beside::transfers)
      return gpus_->beside_transfers([&] {
        Experiment alone = e;
        alone.beside = Beside::nothing;
        return seconds(alone);
      });
    if (e.work == TimedWork::pin) return gpus_->pin(operands_.prepare(e.bytes, DType::f64), e.bytes);
    if (e.work == TimedWork::start_gpus) return gpus_->start(e.bytes);
    if (e.work == TimedWork::device_gemm) return gpus_->product(context_, e);
    const bool leaves = e.work == TimedWork::to_device || e.work == TimedWork::to_host;
    return leaves ? gpus_->transfer(e) : gpus_->device_copy(e);
  }
  void* target_of_copies(std::int64_t bytes) {
    return gpus_ ? gpus_->pinned(bytes) : target_.prepare(bytes, DType::f64);
  }
  std::unique_ptr<GpuExperiments> gpus_;
#else
  void open_gpus(const std::optional<std::vector<int>>& asked) {
    why_no_gpus_ = "this build has no GPU runtime";
    if (asked && !asked->empty())
      throw Error(ErrorCode::unsupported, "gpus",
                  fmt::format("gpus: {} cannot take part: {}", asked->front(), why_no_gpus_));
  }
  double on_gpu(const Experiment&) { throw Error(ErrorCode::unsupported, "gpus", why_no_gpus_); }
  void* target_of_copies(std::int64_t bytes) { return target_.prepare(bytes, DType::f64); }
#endif

  Context& context_;
  CalibratedHost host_;
  GemmOptions options_;  // of products on the host
  std::vector<CalibratedGpu> none_;
  std::string why_no_gpus_;
  FilledMemory operands_, source_, target_;
  std::int64_t next_ = 0;  // offset of the next copy in the source
};

}  // namespace

std::unique_ptr<CalibrationMachine> open_machine(Context& context,
                                                 const std::optional<std::vector<int>>& gpus) {
  return std::make_unique<RealMachine>(context, gpus);
}

}  // namespace tilewright
