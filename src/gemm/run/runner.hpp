// The runner of a plan, on the host or on a GPU: checks operands, runs the whole batch or a part of it, and
// describes itself to explain(). It decides nothing and needs no GPU sources.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/json.hpp"
#include "core/problem.hpp"
#include "kernel/kernel_call.hpp"

namespace tilewright {

// A whole call that is one kernel call on the calling thread, without addresses and scalars.
struct DirectCall {
  const GemmSmallCpuKernel* kernel = nullptr;  // null: calls of this plan are not
  KernelCall call;
};

struct GemmOperation;

class Runner {
 public:
  using Operation = GemmOperation;

  virtual ~Runner() = default;

  // Throws Error(invalid_argument) for addresses that cannot be right and for values per problem of alpha or
  // beta if the plan is for one value, or vice versa. Runs nothing.
  virtual void check(const Operands& operands) const = 0;
  // Runs the whole batch of checked operands on the host, or queues it on operands.stream without waiting,
  // allocating or compiling. Values of alpha and beta are of the problem's classes.
  virtual void run(const Operands& operands) const = 0;
  // True if callers may share out the batch among threads by run_range().
  virtual bool cuts_batches() const { return false; }
  // Runs problems first ... first + count - 1 on the calling thread. A run of interleaved problems begins at
  // a block unless it ends in the same one.
  virtual void run_range(const Operands& operands, std::int64_t first, std::int64_t count) const {
    (void)operands, (void)first, (void)count;
  }
  // True if run_part() may be called.
  virtual bool runs_parts() const { return false; }
  // The same as run_range() on `threads` threads, including the calling one.
  virtual void run_part(const Operands& operands, std::int64_t first, std::int64_t count, int threads) const {
    (void)threads;
    run_range(operands, first, count);
  }
  // True if it fills operands.info. Else, with bad pointers to report, operands.info must be null.
  virtual bool reports() const { return false; }
  const DirectCall& direct_call() const { return direct_call_; }
  // Returns the kernel if small host problems run by it alone; else null.
  virtual std::shared_ptr<const GemmSmallCpuKernel> small_kernel() const { return nullptr; }

  virtual std::string device() const = 0;  // its name
  virtual std::string threads_text() const = 0;
  virtual int thread_count() const { return 1; }
  virtual bool uses_gpus() const { return false; }
  virtual std::string library() const { return ""; }         // "" for tilewright
  virtual nlohmann::json config() const { return nullptr; }  // null without a choice
  virtual std::string config_text() const { return config().dump(); }
  virtual std::string kernel() const { return ""; }  // registers, shared memory and the like in words
  // Returns the same as numbers by name.
  virtual nlohmann::json metrics() const { return nlohmann::json::object(); }
  // Returns a cost model's prediction in words, "" without one: at least `least_s`, the bound of the machine.
  virtual std::string prediction([[maybe_unused]] double least_s) const { return ""; }
  // Returns the same in seconds of the whole batch, if known; for pageable operands if that matters.
  virtual std::optional<double> predicted_s([[maybe_unused]] double least_s) const { return std::nullopt; }
  // Returns its bound in words if that is not the bound of the CPU's ceilings.
  virtual std::string bound() const { return ""; }
  // Returns what a plan that learns from its calls has found so far, in words; "" for others.
  virtual std::string learned() const { return ""; }
  // Returns how the last finished run went, part by part, or null.
  virtual nlohmann::json last_run() const { return nullptr; }
  // True if the same kernels take interleaved blocks, to which a batch could be converted.
  virtual bool takes_blocks() const { return false; }

 protected:
  DirectCall direct_call_;
};

}  // namespace tilewright
