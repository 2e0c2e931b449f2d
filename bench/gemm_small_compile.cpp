// A queue of (job, config) pieces and the threads that empty it.
#include "gemm_small_compile.hpp"

namespace tilewright::bench {

CompilePool::CompilePool(const StencilCompiler& compiler, int compute_capability, std::deque<Job>& jobs,
                         std::size_t ahead)
    : compiler_(compiler), compute_capability_(compute_capability), jobs_(jobs), ahead_(ahead) {
  for (Job& job : jobs_) job.left = job.trials.size();
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t)
    threads_.emplace_back([this] { work(); });
}

CompilePool::~CompilePool() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Job& CompilePool::take(std::size_t index) {
  std::unique_lock lock(mutex_);
  taken_ = index;
  changed_.notify_all();
  changed_.wait(lock, [&] { return jobs_[index].left == 0; });
  return jobs_[index];
}

// Waits for a piece within reach; false when there are no more.
bool CompilePool::next(Piece& piece) {
  std::unique_lock lock(mutex_);
  for (;;) {
    while (next_job_ < jobs_.size() && next_trial_ == jobs_[next_job_].trials.size()) {
      ++next_job_;
      next_trial_ = 0;
    }
    if (stops_ || next_job_ == jobs_.size()) return false;
    if (next_job_ <= taken_ + ahead_) break;
    changed_.wait(lock);
  }
  piece = {next_job_, next_trial_++};
  return true;
}

void CompilePool::work() {
  for (Piece piece; next(piece);) {
    Job& job = jobs_[piece.job];
    Trial& trial = job.trials[piece.trial];
    try {
      trial.binary = compile_gemm_small(compiler_, job.shape, trial.config, job.named.one.problem.dtype,
                                        compute_capability_);
    } catch (const std::exception& error) {
      trial.fault = error.what();
    }
    const std::lock_guard lock(mutex_);
    if (--job.left == 0) changed_.notify_all();
  }
}

}  // namespace tilewright::bench
