// The loaded kernels of a config of large GEMM, nearly always one, for any sizes and streams. It checks
// nothing; the caller provides workspace and counters.
#pragma once

#include <optional>

#include "kernel/gemm_large/gemm_large.hpp"
#include "kernel/jit/stencil.hpp"

namespace tilewright {

// Operands of a launch: addresses on the device; of a batch of pointers or sizes there a, b and c are arrays
// of addresses.
struct GemmLargeOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  const void* alpha = nullptr;  // host addresses of values of the kernel's type; null if there are alphas
  const void* beta = nullptr;   // null stands for 0
  void* workspace = nullptr;    // as GemmLargeKernel::needs() requires
  void* counters = nullptr;     // zero
  // Of problems with values of their own: arrays on the device with an entry per problem.
  const void* alphas = nullptr;
  const void* betas = nullptr;
  VariableSizes sizes = {};
  int* info = nullptr;         // zero; receives the codes of bad problems
  std::int64_t info_step = 1;  // 0: one code for all
};

class GemmLargeKernel {
 public:
  GemmLargeKernel(const Gpu& gpu, const JitBinary& binary, const GemmLargeShape& shape,
                  const GemmLargeConfig& config, DType dtype);

  // The launch of whole tiles for `problem`, of the kernel's shape, and enough memory for all launches.
  GemmLargeLaunch needs(const GemmProblem& problem) const;
  // Computes C = alpha op(A) op(B) + beta C of all problems, by one launch if the kernel's shape is a
  // batch's, else by one for each. With alpha = 0 or k = 0 neither A nor B is read.
  void launch(const GemmProblem& problem, const GemmLargeOperands& operands, CUstream_st* stream) const;

  const GpuFunction& function() const { return functions_.front().function; }
  const GemmLargeShape& shape() const { return shape_; }
  const GemmLargeConfig& config() const { return config_; }
  int blocks_per_multiprocessor() const { return functions_.front().resident; }
  int shared_bytes() const { return shared_bytes_; }

 private:
  struct Instance {
    GemmLargeInstance what;
    GpuFunction function;
    int resident = 0;  // blocks that fit a multiprocessor
  };

  void encode_maps(const GemmProblem& problem, const void* address, GemmLargeSide side, GemmLargeMap& map,
                   GemmLargeMap& odd) const;
  GemmLargeLaunch part_needs(const GemmProblem& part, const Instance& instance) const;
  void pad(const GemmProblem& problem, const GemmLargePadding& padding, GemmLargeOperands& operands,
           CUstream_st* stream) const;
  void launch_at_once(const GemmProblem& problem, const GemmLargeOperands& operands,
                      CUstream_st* stream) const;
  template <class T>
  void launch_list(const GemmProblem& problem, const GemmLargeOperands& operands, CUstream_st* stream) const;
  template <class T>
  void launch_part(const GemmProblem& whole, const GemmLargePart& part, const GemmLargeOperands& operands,
                   CUstream_st* stream) const;

  const Gpu* gpu_;
  GemmLargeShape shape_;
  GemmLargeConfig config_;
  DType dtype_;
  int shared_bytes_ = 0;
  GpuModule module_;
  std::vector<Instance> functions_;  // in the order of gemm_large_instances()
  std::optional<GpuFunction> pad_;   // makes copies
};

// Returns the compiler's request for the instances of the stencil.
StencilRequest gemm_large_request(const GemmLargeShape& shape, const GemmLargeConfig& config, DType dtype,
                                  int compute_capability);

// Returns why the compiler's report forbids the kernel: spills, a stack, too many registers; "" if allowed.
std::string gemm_large_refusal(const JitBinary& binary, const GemmLargeConfig& config,
                               const GpuLimits& limits);

// Scratch memory for launches of any kernels that follow each other on one stream; grows as needed.
class GemmLargeScratch {
 public:
  explicit GemmLargeScratch(const Gpu& gpu) : gpu_(gpu) {}
  // Adds the memory that `kernel` needs for `problem` to the operands; to grow, it waits for the device.
  void provide(const GemmLargeKernel& kernel, const GemmProblem& problem, GemmLargeOperands& operands);

 private:
  void grow(std::optional<GpuBuffer>& held, std::int64_t bytes) const;

  const Gpu& gpu_;
  std::optional<GpuBuffer> sums_, counters_;
};

}  // namespace tilewright
