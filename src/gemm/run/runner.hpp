// What a plan runs with, on the host or on a GPU, as the rest of the plan sees it: it checks operands, runs
// the whole batch or a part of it, and tells explain() what it is. It decides nothing. No part of it needs a
// GPU, so builds without the GPU sources have it too.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/json.hpp"
#include "core/problem.hpp"
#include "kernel/kernel_call.hpp"

namespace tilewright {

// A whole call that is one kernel on the calling thread: all of it but addresses and scalars.
struct DirectCall {
  const GemmSmallCpuKernel* kernel = nullptr;  // null: no call of this plan is that
  KernelCall call;
};

struct GemmOperation;

class Runner {
 public:
  using Operation = GemmOperation;

  virtual ~Runner() = default;

  // Throws Error(invalid_argument) for addresses that cannot be right and for alpha or beta that come
  // otherwise than the plan was made for. Runs nothing.
  virtual void check(const Operands& operands) const = 0;
  // The whole batch, of operands that check() let pass: run on the host, or queued on operands.stream without
  // waiting, allocating or compiling. Values of alpha and beta are of the problem's classes.
  virtual void run(const Operands& operands) const = 0;
  // Whether callers may cut the batch and share out the parts themselves, by run_range().
  virtual bool cuts_batches() const { return false; }
  // Problems first ... first + count - 1 on the calling thread; a run of interleaved problems begins at a
  // block unless it ends in the same one.
  virtual void run_range(const Operands& operands, std::int64_t first, std::int64_t count) const {
    (void)operands, (void)first, (void)count;
  }
  // Whether run_part() serves.
  virtual bool runs_parts() const { return false; }
  // The same as run_range() by so many threads, the calling one among them.
  virtual void run_part(const Operands& operands, std::int64_t first, std::int64_t count, int threads) const {
    (void)threads;
    run_range(operands, first, count);
  }
  // Whether it fills operands.info; else that must be null where there is something to report.
  virtual bool reports() const { return false; }
  const DirectCall& direct_call() const { return direct_call_; }
  // The kernel of small host problems that runs and nothing beside it; null for all else.
  virtual std::shared_ptr<const GemmSmallCpuKernel> small_kernel() const { return nullptr; }

  virtual std::string device() const = 0;  // its name
  virtual std::string threads_text() const = 0;
  virtual int thread_count() const { return 1; }
  virtual bool uses_gpus() const { return false; }
  virtual std::string library() const { return ""; }         // whose code runs; "" for ours
  virtual nlohmann::json config() const { return nullptr; }  // null where there is nothing to choose
  virtual std::string config_text() const { return config().dump(); }
  virtual std::string kernel() const { return ""; }  // registers, shared memory and the like in words
  // The same as numbers by name, as far as there are any.
  virtual nlohmann::json metrics() const { return nlohmann::json::object(); }
  // Of a cost model in words, "" where there is none; never below `least_s`, which the CPU on one thread, or
  // the GPU, needs.
  virtual std::string prediction([[maybe_unused]] double least_s) const { return ""; }
  // The same in seconds of the whole batch, where it says them; of pageable operands where that matters.
  virtual std::optional<double> predicted_s([[maybe_unused]] double least_s) const { return std::nullopt; }
  // What it cannot be faster than, in words, where that is not a matter of the CPU's ceilings alone.
  virtual std::string bound() const { return ""; }
  // How the last run that ended went, part by part, where there are any; else null.
  virtual nlohmann::json last_run() const { return nullptr; }
  // Whether the same kernels take interleaved blocks, to which a batch could be converted.
  virtual bool takes_blocks() const { return false; }

 protected:
  DirectCall direct_call_;
};

}  // namespace tilewright
