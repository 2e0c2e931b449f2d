// Experiments of calibration, the machine that times them, and the sets that fit and validate each model
// (Bernabe 2014, section 4). An experiment, a transfer, host copy or product, is its time's key in the log.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "tilewright/context.hpp"

namespace tilewright {

enum class TimedWork : std::uint8_t {
  start_threads,  // start and join `threads` threads
  start_gpus,     // start and join a thread for each GPU, which copies the bytes there
  stream,         // through host memory by `threads` threads, two bytes read for each one written
  host_copy,      // from pageable into pinned memory, by `threads` threads
  pin,            // register pageable memory, and unregister it
  to_device,      // of one GPU
  to_host,
  from_peer,    // from another GPU's memory into this one's
  device_copy,  // within a GPU's memory
  host_gemm,    // C = A B + C of operands in host memory
  device_gemm,
};
TILEWRIGHT_NAMES(TimedWork, "start_threads", "start_gpus", "stream", "host_copy", "pin", "to_device",
                 "to_host", "from_peer", "device_copy", "host_gemm", "device_gemm");

// The load of the machine, from before the timing begins until after it ends.
enum class Beside : std::uint8_t {
  nothing,
  other_direction,  // the same GPU copies the other way
  all_gpus,         // every GPU copies in the same direction
  transfers,        // every GPU copies in both directions
  host_product,     // the same GPU copies the other way, and the CPU multiplies m x n x k
};
TILEWRIGHT_NAMES(Beside, "nothing", "other_direction", "all_gpus", "transfers", "host_product");

struct Experiment {
  TimedWork work = TimedWork::host_gemm;
  Beside beside = Beside::nothing;
  int gpu = -1;        // position among the machine's; -1: the host alone
  int peer = -1;       // the other GPU
  bool pinned = true;  // the memory of the host
  int threads = 0;     // 0: the library's default
  std::int64_t bytes = 0;
  std::int64_t pieces = 0;  // of a transfer, `pitch_bytes` apart; 0: contiguous
  DType dtype = DType::f64;
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t in_a_row = 0;  // consecutive products on a GPU that was idle before; 0: a single one

  bool is_gemm() const { return work == TimedWork::host_gemm || work == TimedWork::device_gemm; }
  double products() const {
    return double(m) * double(n) * double(k) * double(std::max<std::int64_t>(in_a_row, 1));
  }
  friend bool operator==(const Experiment&, const Experiment&) = default;
};

TILEWRIGHT_FIELDS(Experiment, work, beside, gpu, peer, pinned, threads, bytes, pieces, dtype, m, n, k,
                  in_a_row);

// "to_device gpu 0 pinned 64 MiB beside other_direction", "host_gemm f64 1024x128x1024": unique.
std::string to_string(const Experiment& experiment);

// The distance of pieces on both sides, as of a large matrix's columns: none share a page, all exceed caches.
constexpr std::int64_t pitch_bytes = 256 << 10;

struct CalibrationScope {
  bool quick = false;  // fewer and smaller experiments
  std::vector<DType> dtypes{DType::f64, DType::f32, DType::c128, DType::c64};
};

// One model of one device, with its experiments in the order in which they are made, the smaller ones first.
struct CalibrationTask {
  std::string model;         // as wisdom names it
  int gpu = -1;              // the first of those that share the model; -1: the host
  DType dtype = DType::f64;  // of products
  std::vector<Experiment> installation, validation;
};

struct CalibratedHost {
  std::string device;  // the CPU, as records name it
  std::string blas, blas_version;
  int threads = 1;  // of its products
  std::int64_t memory_bytes = 0;
};

struct CalibratedGpu {
  int device = 0;  // CUDA's number
  std::string name, architecture, driver;
  std::string blas_version;  // of the vendor's library; "" without one
  std::int64_t memory_bytes = 0;
  double memory_bytes_per_s = 0;  // from clock and bus width
};

class CalibrationMachine {
 public:
  virtual ~CalibrationMachine() = default;
  virtual const CalibratedHost& host() const = 0;
  virtual const std::vector<CalibratedGpu>& gpus() const = 0;
  // The reason why there are no GPUs; "" with GPUs.
  virtual std::string why_no_gpus() const = 0;
  // True if one GPU reaches the other's memory directly.
  virtual bool reaches(int gpu, int peer) const = 0;
  // Called once before the products are timed: compiles their kernels.
  virtual void prepare(const std::vector<Experiment>&) {}
  // Times the experiment once. Throws Error if the machine cannot run it.
  virtual double seconds(const Experiment& experiment) = 0;
  // The clock of the budget.
  virtual double now() = 0;
};

// Opens this machine: its CPU through the public interface, with the CBLAS of large products, and the GPUs
// with the given numbers (nothing: all usable ones). The context multiplies and must outlive the machine.
// Throws Error(unsupported) or Error(invalid_argument) for a named GPU that cannot take part.
std::unique_ptr<CalibrationMachine> open_machine(Context& context,
                                                 const std::optional<std::vector<int>>& gpus);

// Later tasks may build on the times of earlier ones. GPUs of one name share their models.
std::vector<CalibrationTask> calibration_tasks(const CalibrationMachine& machine,
                                               const CalibrationScope& scope);

// The experiment's relative share of the budget.
double weight_of(const Experiment& experiment);

}  // namespace tilewright
