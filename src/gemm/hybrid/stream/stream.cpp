// Runs all shares of a split at once: a thread per GPU, the CPU's part here, then what a failed GPU left.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <system_error>

#include "core/dispatch.hpp"
#include "device/workers.hpp"
#include "gemm/hybrid/stream/share_run.hpp"
#include "gemm/operand.hpp"

namespace tilewright {
namespace {

using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

constexpr std::int64_t least_ring_bytes = std::int64_t(1) << 20;

class StreamedGemm {
 public:
  explicit StreamedGemm(const StreamJob& job)
      : job_(job),
        own_copiers_(job.copiers == nullptr && !job.split.gpus.empty() ? job.split.copy_threads - 1 : 0),
        run_{job,
             StreamShape(job.problem, job.split.side),
             SliceExchange(int(job.split.gpus.size()), most_units()),
             job.copiers != nullptr ? *job.copiers : own_copiers_,
             std::max(job.split.ring_bytes, least_ring_bytes),
             beta_} {
    set_beta();
    for (std::size_t i = 0; i < job.split.gpus.size(); ++i)
      shares_.push_back(
          std::make_unique<ShareRun>(run_, int(i), *job.devices.at(std::size_t(job.split.gpus[i].gpu))));
    // Reserved now: nothing may throw for lack of memory once C is written to.
    report_.gpu_s.reserve(shares_.size());
    report_.failures.reserve(shares_.size());
  }

  StreamReport compute() {
    const auto begin = SteadyClock::now();
    // The last share runs on this thread if the CPU has no part.
    const bool host = job_.split.host_count > 0;
    const std::size_t on_threads = host || shares_.empty() ? shares_.size() : shares_.size() - 1;
    std::exception_ptr host_failure = start(on_threads);
    if (host && !host_failure) host_failure = multiply_part();
    if (!host && !host_failure && !shares_.empty()) shares_.back()->compute();
    threads().wait(begun_);
    for (const auto& share : shares_) share->release();
    if (host_failure) std::rethrow_exception(host_failure);
    for (const auto& share : shares_) report_.gpu_s.push_back(share->seconds());
    for (std::size_t i = 0; i < shares_.size(); ++i)
      if (shares_[i]->failure()) settle(*shares_[i]);
    if (!undefined_.empty())
      throw Error(first_code_, "gpu",
                  fmt::format("{}; {} of C are undefined", trouble_, extents_text(undefined_)));
    report_.seconds = seconds_since(begin);
    return std::move(report_);
  }

 private:
  int most_units() const {
    int most = 0;
    for (const StreamSchedule& schedule : job_.schedules) most = std::max(most, schedule.units);
    return most;
  }

  void set_beta() {
    dispatch(job_.problem.dtype, [&]<class T>() {
      const T value = scalar_of<T>(job_.problem.beta, job_.operands.beta, 0, 0);
      std::memcpy(beta_, &value, sizeof value);
    });
  }

  Workers& threads() { return job_.threads != nullptr ? *job_.threads : own_threads_; }

  // Returns the error if threads cannot be started; then none is running.
  std::exception_ptr start(std::size_t count) {
    try {
      threads().grow(count);  // each has a thread of its own: they may wait for one another
      threads().submit(
          std::int64_t(count), 1,
          [this](std::int64_t i, std::int64_t) { shares_[std::size_t(i)]->compute(); }, begun_);
    } catch (const std::system_error&) {
      return std::make_exception_ptr(
          Error(ErrorCode::out_of_memory, "threads",
                fmt::format("{} threads for GPUs cannot be started; C is unchanged", count)));
    }
    return nullptr;
  }

  std::exception_ptr multiply_part() {
    const auto begin = SteadyClock::now();
    try {
      const IndexRange part{job_.split.host_first, job_.split.host_count};
      multiply(run_.shape.stored(ProductMatrix::c, run_.shape.whole(part)));
    } catch (...) {
      return std::current_exception();
    }
    report_.host_s = seconds_since(begin);
    return nullptr;
  }

  void multiply(const StoredBlock& block) const {
    const StreamShape& shape = run_.shape;
    if (shape.is_batch()) return job_.multiply_range_on_host(block.column, block.columns);
    const Piece piece = shape.piece_of(block);
    Operands part = job_.operands;
    part.a = shape.block(ProductMatrix::a, part.a, piece)->at.data;
    part.b = shape.block(ProductMatrix::b, part.b, piece)->at.data;
    part.c = shape.block(ProductMatrix::c, part.c, piece)->at.data;
    job_.multiply_on_host(shape.part(piece), part);
  }

  // The host computes the part that a failed share has not brought back, or the error names it. Callers that
  // cannot receive an error ask for the former, and get it whatever failed.
  void settle(const ShareRun& share) {
    if (job_.redo_on_host) share.each_missing([this](const StoredBlock& block) { multiply(block); });
    try {
      note(share);
    } catch (const std::bad_alloc&) {
      if (!job_.redo_on_host) throw;
    }
  }

  void note(const ShareRun& share) {
    ErrorCode code = ErrorCode::internal;
    std::string what = "an unknown exception";
    try {
      std::rethrow_exception(share.failure());
    } catch (const Error& error) {
      code = error.code(), what = error.what();
    } catch (const std::bad_alloc&) {
      code = ErrorCode::out_of_memory, what = "out of host memory";
    } catch (const std::exception& error) {
      what = error.what();
    }
    report_.failures.push_back(fmt::format("{}: {}", share.device().name(), what));
    std::vector<StoredBlock> missing;
    share.each_missing([&](const StoredBlock& block) { missing.push_back(block); });
    if (job_.redo_on_host) {
      report_.redone += extent_count(missing);
      return;
    }
    if (trouble_.empty()) first_code_ = code;
    trouble_ += fmt::format("{}{} failed: {}", trouble_.empty() ? "" : "; ", share.device().name(), what);
    undefined_.insert(undefined_.end(), missing.begin(), missing.end());
  }

  // The extents of the missing blocks along the shared dimension, joined.
  std::vector<IndexRange> extents_of(const std::vector<StoredBlock>& blocks) const {
    std::vector<IndexRange> extents;
    for (const StoredBlock& block : blocks)
      extents.push_back(job_.split.side != SplitSide::rows ? IndexRange{block.column, block.columns}
                                                           : IndexRange{block.row, block.rows});
    std::sort(extents.begin(), extents.end(),
              [](const IndexRange& x, const IndexRange& y) { return x.first < y.first; });
    std::vector<IndexRange> joined;
    for (const IndexRange& extent : extents) {
      if (joined.empty() || extent.first > joined.back().end())
        joined.push_back(extent);
      else
        joined.back().count = std::max(joined.back().end(), extent.end()) - joined.back().first;
    }
    return joined;
  }
  std::int64_t extent_count(const std::vector<StoredBlock>& blocks) const {
    std::int64_t count = 0;
    for (const IndexRange& extent : extents_of(blocks)) count += extent.count;
    return count;
  }
  std::string extents_text(const std::vector<StoredBlock>& blocks) const {
    std::string text;
    for (const IndexRange& extent : extents_of(blocks))
      text += fmt::format("{}{} to {}", text.empty() ? "" : ", ", extent.first, extent.end() - 1);
    return fmt::format("{} {}", to_string(job_.split.side), text);
  }

  const StreamJob& job_;
  Workers own_copiers_, own_threads_;
  alignas(16) unsigned char beta_[16] = {};
  StreamRun run_;
  std::vector<std::unique_ptr<ShareRun>> shares_;
  Workers::Ticket begun_;
  StreamReport report_;
  std::string trouble_;  // of shares that the host does not compute again
  ErrorCode first_code_ = ErrorCode::internal;
  std::vector<StoredBlock> undefined_;
};

}  // namespace

std::vector<StreamSchedule> schedules_on(const std::vector<StreamDevice*>& devices,
                                         const GemmProblem& problem, Split split) {
  const StreamShape shape(problem, split.side);
  std::vector<int> peers;
  const auto device_of = [&](const GpuShare& share) -> StreamDevice& {
    return *devices.at(std::size_t(share.gpu));
  };
  bool reach = split.gpus.size() > 1 && !shape.is_batch() && have_same_slices(shape, split);
  for (std::size_t i = 0; i < split.gpus.size(); ++i) {
    peers.push_back(int(i));
    if (!device_of(split.gpus[i]).adds()) split.gpus[i].adds_c = false;
    for (const GpuShare& other : split.gpus)
      reach = reach && (other.gpu == split.gpus[i].gpu || device_of(split.gpus[i]).reaches(device_of(other)));
  }
  return make_schedules(shape, split, reach ? peers : std::vector<int>());
}

StreamReport stream_gemm(const StreamJob& job) { return StreamedGemm(job).compute(); }

}  // namespace tilewright
