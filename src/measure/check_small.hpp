// Is a kernel right? Every element of a small batch in any layout is held against plain loops in a wider
// type. Whatever is no element of an operand is NaN: guards, gaps, a C that beta = 0 and inputs that alpha =
// 0 must not read; outside C nothing may change, and bad problems get their codes and harm no other. Where
// operands lie and what multiplies them is the caller's.
#pragma once

#include <functional>
#include <memory>

#include "measure/accuracy.hpp"
#include "measure/small_batch.hpp"

namespace tilewright {

// Memory that a kernel reads and writes: the host's, or a device's.
class CheckMemory {
 public:
  virtual ~CheckMemory() = default;
  // A copy of these bytes at a multiple of 256 bytes.
  virtual std::shared_ptr<std::byte> place(const void* from, std::size_t bytes) const = 0;
  // Waits for whoever writes there.
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
  // Prepares `count` problems of the case and what must come out, once for all kernels.
  SmallCheck(const SmallCase& one, std::int64_t count, unsigned seed = 12345);
  // The problem's own batch.
  explicit SmallCheck(const GemmProblem& problem) : SmallCheck({.problem = problem}, problem.batch_count) {}
  ~SmallCheck();
  SmallCheck(SmallCheck&&) noexcept;
  SmallCheck& operator=(SmallCheck&&) noexcept;

  const SmallBatch& batch() const;
  // `run` multiplies, or queues it on the default stream. Values of alpha and beta lie on the host; one per
  // problem, sizes and codes as everything else in `memory`.
  CheckResult run(const CheckMemory& memory, const std::function<void(const Operands&)>& run) const;

  struct State;

 private:
  std::unique_ptr<const State> state_;
};

}  // namespace tilewright
