// Experiments on the host, and which GPUs take part.
#include "tune/calibrate/real_machine.hpp"

#include <omp.h>

#include <algorithm>
#include <cstring>
#include <functional>
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

#if TILEWRIGHT_HAS_GPU
#include "device/gpu/gpu.hpp"
#include "tune/calibrate/gpu_experiments.hpp"
#endif

namespace tilewright {
namespace {

constexpr std::int64_t line = 64;
constexpr std::int64_t most_host_bytes = std::int64_t(16)
                                         << 30;   // a container may have less than the nodes say
constexpr std::int64_t source_bytes = 256 << 20;  // that copies walk through, so that none finds a warm cache

CalibratedHost described_host(const Context& context) {
  CalibratedHost host;
  host.device = cpu_info().device, host.architecture = context.cpu();
  const CblasLibrary blas(Environment::read().cblas);
  host.blas = blas.available() ? blas.name() : "";
  host.blas_version = blas.version();
  host.threads = omp_get_max_threads();
  for (const NumaNode& node : numa_nodes()) host.memory_bytes += node.memory_bytes;
  host.memory_bytes = std::min(host.memory_bytes > 0 ? host.memory_bytes : most_host_bytes, most_host_bytes);
  return host;
}

// The part of `bytes` that thread t of `threads` has.
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

// Memory whose pages lie where those threads are that will use them, with random elements of one type.
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
      : context_(context), host_(described_host(context)) {
    options_.target = Target::cpu;
    // The library that the record names, at sizes of small kernels too; without one, what the plan takes.
    if (!host_.blas.empty()) options_.candidate = "cblas";
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
    if (e.beside == Beside::host_product) return beside_product(e);
    const bool beside = e.gpu < 0 && e.beside == Beside::transfers;
    return beside ? beside_transfers([&] { return alone(e); }) : alone(e);
  }

 private:
  double alone(const Experiment& e) {
    switch (e.work) {
      case TimedWork::start_threads:
        return start_threads(e.threads);
      case TimedWork::stream:
        return pass(e.bytes, e.threads);
      case TimedWork::host_copy:
        return copy(e.bytes, e.threads);
      case TimedWork::host_gemm:
        return product(e);
      default:
        return on_gpu(e);
    }
  }

  static double start_threads(int count) {
    const double begin = wall_seconds();
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back([] {});
    for (std::thread& one : threads) one.join();
    return wall_seconds() - begin;
  }

  // The fastest of the ways of walking two arrays that are read and one that is written.
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
    if (asked && asked->empty()) why_no_gpus_ = "none was asked for";
    if (devices.empty()) return;
    gpus_ = std::make_unique<GpuExperiments>(devices);
    why_no_gpus_.clear();
  }
  double on_gpu(const Experiment& e) {
    if (!gpus_) throw Error(ErrorCode::unsupported, "gpus", why_no_gpus_);
    if (e.work == TimedWork::pin) return gpus_->pin(operands_.prepare(e.bytes, DType::f64), e.bytes);
    if (e.work == TimedWork::start_gpus) return gpus_->start(e.bytes);
    if (e.work == TimedWork::device_gemm) return gpus_->product(context_, e);
    const bool leaves = e.work == TimedWork::to_device || e.work == TimedWork::to_host;
    return leaves ? gpus_->transfer(e) : gpus_->device_copy(e);
  }
  double beside_transfers(const std::function<double()>& work) { return gpus_->beside_transfers(work); }
  double beside_product(const Experiment& e) {
    return gpus_->transfer_beside(e, [&] { product(e); });
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
  double beside_transfers(const std::function<double()>&) {
    throw Error(ErrorCode::unsupported, "gpus", why_no_gpus_);
  }
  double beside_product(const Experiment&) { throw Error(ErrorCode::unsupported, "gpus", why_no_gpus_); }
  void* target_of_copies(std::int64_t bytes) { return target_.prepare(bytes, DType::f64); }
#endif

  Context& context_;
  CalibratedHost host_;
  GemmOptions options_;  // of products on the host
  std::vector<CalibratedGpu> none_;
  std::string why_no_gpus_;
  FilledMemory operands_, source_, target_;
  std::int64_t next_ = 0;  // of the source, to copy from
};

}  // namespace

std::unique_ptr<CalibrationMachine> open_machine(Context& context,
                                                 const std::optional<std::vector<int>>& gpus) {
  return std::make_unique<RealMachine>(context, gpus);
}

}  // namespace tilewright
