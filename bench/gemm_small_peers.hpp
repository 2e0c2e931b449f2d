// What our kernels are timed beside, in the same run: cuBLAS for the same batch.
#pragma once

#include <complex>

#include "device/gpu/blas.hpp"
#include "gemm_small_load.hpp"

namespace tilewright::bench {

// cuBLAS's routine for a batch: strided, by pointers or in groups of equal sizes.
class BlasPeer {
 public:
  // For the operands of `load`, which must outlive it, in the same buffers.
  BlasPeer(GpuBlas& blas, const Gpu& gpu, const SmallLoad& load, void* a, void* b, void* c);
  // Which routine runs, "" = cuBLAS has none for this batch.
  const std::string& name() const { return name_; }
  // On copy `turn` of the batch.
  void launch(std::int64_t turn = 0);

 private:
  void prepare_groups();

  GpuBlas& blas_;
  const SmallLoad& load_;
  const SmallBatch& batch_;
  DeviceArrays arrays_;
  void* bases_[3];
  std::string name_;
  std::vector<GpuBlas::Batch> groups_;  // one for a batch of equal sizes
  std::vector<std::int64_t> order_;     // problems of a variable batch by their sizes
  std::complex<double> one_ = 1, zero_ = 0;
  float one_f_ = 1, zero_f_ = 0;
  std::complex<float> one_c_ = 1, zero_c_ = 0;
};

}  // namespace tilewright::bench
