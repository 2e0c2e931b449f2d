// Plans whose products are summed into one C each, on the host: what is the same whether kernels form the
// sums or one product after the other.
#pragma once

#include "gemm/run/host.hpp"
#include "gemm/sums/run.hpp"

namespace tilewright {

class SmallKernels;

class SumsRunner : public HostRunner {
 public:
  explicit SumsRunner(const PlanRequest& request);

  void check(const Operands& operands) const override;
  void run(const Operands& operands) const override;
  bool cuts_batches() const override { return false; }
  std::string threads_text() const override;
  int thread_count() const override;

 protected:
  SumCode code_;

 private:
  // All products of a batch that is not empty into its one C.
  virtual void reduce(const Operands& operands, const SumCode& code) const = 0;
  void scale(const Operands& operands) const;

  std::shared_ptr<SmallKernels> small_;  // whose scratch it sorts in
};

// By kernels of this config, which is one of the problem's space.
struct PlanRequest;
std::shared_ptr<const Runner> small_sums_runner(const PlanRequest& request, const GemmSmallCpuConfig& config);

}  // namespace tilewright
