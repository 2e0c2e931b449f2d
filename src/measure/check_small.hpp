// Checks a kernel: every element of a small batch in any layout is compared with plain loops in a wider type.
// All memory that is not an element of an operand is NaN: guards, gaps, a C that beta = 0 and inputs that
// alpha = 0 must not read. Nothing outside C may change, and faulty problems get their codes and affect no
// other. The caller decides where operands lie and what multiplies them.
#pragma once

#include <functional>
#include <memory>

#include "measure/accuracy.hpp"
#include "measure/small_batch.hpp"

namespace tilewright {

// Memory that a kernel reads and writes, on the host or on a device.
class CheckMemory {
 public:
  virtual ~CheckMemory() = default;
  // Copies these bytes to an address that is a multiple of 256.
  virtual std::shared_ptr<std::byte> place(const void* from, std::size_t bytes) const = 0;
  // Reads bytes after waiting for the work that writes them.
  virtual void read(void* to, const std::byte* from, std::size_t bytes) const = 0;
};

class HostMemory : public CheckMemory {
 public:
  std::shared_ptr<std::byte> place(const void* from, std::size_t bytes) const override;
  void read(void* to, const std::byte* from, std::size_t bytes) const override;
};

struct CheckResult {
  std::string fault;  // "" = none, else where and what is wrong
  Accuracy accuracy;
};

class SmallCheck {
 public:
  // Prepares `count` problems of the case and their exact results, once for all kernels.
  SmallCheck(const SmallCase& one, std::int64_t count, unsigned seed = 12345);
  // Checks the problem with its own batch count.
  explicit SmallCheck(const GemmProblem& problem) : SmallCheck({.problem = problem}, problem.batch_count) {}
  ~SmallCheck();
  SmallCheck(SmallCheck&&) noexcept;
  SmallCheck& operator=(SmallCheck&&) noexcept;

  const SmallBatch& batch() const;
  // `run` multiplies, or queues the multiplication on the default stream. alpha and beta lie on the host;
  // per-problem scalars, sizes and codes lie in `memory` like everything else.
  CheckResult run(const CheckMemory& memory, const std::function<void(const Operands&)>& run) const;

  struct State;

 private:
  std::unique_ptr<const State> state_;
};

}  // namespace tilewright
