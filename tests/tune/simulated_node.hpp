// A node for tests of calibration: its times come from known coefficients, scattered and disturbed as asked
// for, and its clock is the sum of them.
#pragma once

#include <map>
#include <random>
#include <string>

#include "tune/calibrate/machine.hpp"
#include "wisdom/node_model.hpp"

namespace tilewright::testing {

struct Trouble {
  double noise = 0.01;      // standard deviation of each timing, relative
  double disturbed = 0.05;  // share of timings that another program makes ...
  double longer = 3;        // ... so many times as long
  // Relative, of experiments and not of their timings: what no formula of the models can say.
  double unexplained = 0;
  std::string broken;    // experiments whose text begins like this fail
  std::string restless;  // and timings of these scatter by half
};

class SimulatedNode : public CalibrationMachine {
 public:
  explicit SimulatedNode(int gpus = 1, Trouble trouble = {}) : trouble_(trouble) {
    host_ = {"Abacus 1", "libabacus.so", "Abacus BLAS 1.2", 8, std::int64_t(64) << 30};
    for (int i = 0; i < gpus; ++i)
      gpus_.push_back({i, "Slide Rule 9", "sm_90", "13.0", "13.1.0", std::int64_t(80) << 30, 3e12});
    node.host.threads = host_.threads;
    for (std::size_t i = 0; i < dtype_count; ++i) {
      const double scale = double(size_bytes(DType(i))) / 8;
      // C moves at the rate of memory below, so that its share of the term of m n is known.
      node.host.gemm[i] = {20e-6, 2e-12 * scale, 2 * 8 * scale / node_memory_rate, 3e-12 * scale, 12};
      node.gpus_gemm[i] = {8e-6, 4e-14 * scale, 2 * 8 * scale / 3e12, 1e-13 * scale, 90};
    }
  }

  // The truth.
  struct Truth {
    HostModel host;
    std::array<GemmTime, dtype_count> gpus_gemm;
    TransferTime to_device{9e-6, 1 / 55e9}, to_host{8e-6, 1 / 53e9}, pageable_to_device{20e-6, 1 / 10e9},
        pageable_to_host{18e-6, 1 / 17e9}, from_peer{6e-6, 1 / 390e9};
    std::array<SustainedRate, dtype_count> sustained{};
    double duplex = 1.13, together = 1.22, one_way = 1.1, row_s = 150e-9, gamma = 0.3, copies_beside = 1.4;
  } node;
  static constexpr double node_memory_rate = 120e9;

  const CalibratedHost& host() const override { return host_; }
  const std::vector<CalibratedGpu>& gpus() const override { return gpus_; }
  std::string why_no_gpus() const override { return gpus_.empty() ? "it was built without" : ""; }
  bool reaches(int gpu, int peer) const override { return gpu != peer; }
  double now() override { return clock_; }
  double seconds(const Experiment& e) override {
    const std::string text = to_string(e);
    if (!trouble_.broken.empty() && text.starts_with(trouble_.broken))
      throw Error(ErrorCode::out_of_memory, "gpu", "no room for " + text);
    ++calls[text];
    const double noise =
        !trouble_.restless.empty() && text.starts_with(trouble_.restless) ? 0.5 : trouble_.noise;
    double s = exact(e) * (1 + trouble_.unexplained * unevenness(text));
    s *= std::max(0.1, 1 + noise * normal_(random_));
    if (std::uniform_real_distribution<double>(0, 1)(random_) < trouble_.disturbed) s *= trouble_.longer;
    clock_ += s;
    return s;
  }

  // Without noise.
  double exact(const Experiment& e) const {
    const auto bytes = double(e.bytes);
    const double busy = e.beside == Beside::transfers ? 1 / (1 - node.gamma) : 1;
    switch (e.work) {
      case TimedWork::start_threads:
        return 10e-6 + 15e-6 * e.threads;
      case TimedWork::start_gpus:
        return 70e-6 + bytes / 55e9;
      case TimedWork::stream:
        return (5e-6 + bytes / node_memory_rate) * (e.beside == Beside::transfers ? 2 : 1);
      case TimedWork::host_copy:
        return 2e-6 * e.threads + bytes / (12e9 * e.threads / (1 + 0.1 * e.threads));
      case TimedWork::pin:
        return 30e-6 + bytes * 60e-12;
      case TimedWork::to_device:
        return transfer(e, e.pinned ? node.to_device : node.pageable_to_device);
      case TimedWork::to_host:
        return transfer(e, e.pinned ? node.to_host : node.pageable_to_host);
      case TimedWork::from_peer:
        return node.from_peer.of(bytes);
      case TimedWork::device_copy:
        return 3e-6 + 2 * bytes / 2.5e12;
      case TimedWork::host_gemm:
        return product(node.host.gemm, e) * busy;
      case TimedWork::device_gemm:
        if (e.in_a_row == 0) return product(node.gpus_gemm, e);
        return node.sustained[std::size_t(e.dtype)].of(
            double(e.in_a_row) * product(node.gpus_gemm, e),
            double(e.in_a_row) * double(e.m) * double(e.n) * double(e.k));
    }
    return 0;
  }

  std::map<std::string, int> calls;  // by experiment

 private:
  double transfer(const Experiment& e, const TransferTime& time) const {
    const double both = e.beside == Beside::nothing || e.beside == Beside::all_gpus ? 1 : node.duplex;
    const double all = e.beside == Beside::transfers      ? node.together
                       : e.beside == Beside::all_gpus     ? node.one_way
                       : e.beside == Beside::host_product ? node.copies_beside
                                                          : 1;
    return time.of(double(e.bytes)) * both * all + node.row_s * double(e.pieces);
  }
  static double product(const std::array<GemmTime, dtype_count>& times, const Experiment& e) {
    return times[std::size_t(e.dtype)].of(double(e.m), double(e.n), double(e.k));
  }
  // -1 or 1, the same for the same experiment.
  static double unevenness(const std::string& text) {
    return std::mt19937(unsigned(std::hash<std::string>{}(text)))() % 2 == 0 ? -1 : 1;
  }

  Trouble trouble_;
  CalibratedHost host_;
  std::vector<CalibratedGpu> gpus_;
  double clock_ = 0;
  std::mt19937 random_{7};
  std::normal_distribution<double> normal_;
};

}  // namespace tilewright::testing
