// LU of a matrix in host memory by GPUs: columns arrive during the first blocks, final rows leave at once.
#pragma once

#include <memory>
#include <vector>

#include "device/workers.hpp"
#include "gemm/hybrid/stream/stream_device.hpp"
#include "lu/device/schedule.hpp"

namespace tilewright {

// One of the GPUs.
struct StreamedLuGpu {
  StreamDevice* device = nullptr;
  std::shared_ptr<LuTools> tools;
  TransferTime to_device, to_host;
};

struct StreamedLuJob {
  DType dtype = DType::f64;
  std::int64_t m = 0, n = 0, lda = 0;
  std::int64_t nb = 0;  // 0: by the heuristic of with_nb()
  void* a = nullptr;    // in host memory
  std::int64_t* pivots = nullptr;
  bool pinned = false;
  Workers* copiers = nullptr;  // for pageable memory
  GemmTime product;            // of each GPU
  std::vector<StreamedLuGpu> gpus;
};

struct StreamedLuReport {
  std::int64_t info = 0, nb = 0;
  bool wrote = false;  // true once anything was written to the matrix, also if the call throws
};

// Throws Error(out_of_memory) or Error(unsupported) before any write, Error(device_lost) at any time.
void factor_streamed(const StreamedLuJob& job, StreamedLuReport& report);

// About the bytes that each GPU needs.
std::int64_t streamed_lu_bytes(const LuShape& shape);

// Predicts the seconds, and the columns that have arrived at each step.
class StreamedLuPlan {
 public:
  StreamedLuPlan(const LuShape& shape, const LuPace& pace, int gpus, double column_up_s,
                 double column_down_s);
  std::int64_t arrived(const LuStep& step) const { return arrived_[std::size_t(step.index)]; }
  double seconds() const { return seconds_; }

 private:
  std::vector<std::int64_t> arrived_;
  double seconds_ = 0;
};

}  // namespace tilewright
