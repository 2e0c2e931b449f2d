// The order in which the steps of one factorization are queued, on one GPU or on several that share its
// columns: block j of columns belongs to GPU j mod count. The next block is factored while the rest of the
// matrix is updated. Columns that arrive late from the host catch up with the steps done to the others.
// Nothing waits on the host.
#pragma once

#include <mutex>
#include <span>
#include <vector>

#include "lu/device/engine.hpp"

namespace tilewright {

struct LuColumns {
  std::int64_t first = 0, count = 0;
};

// The transfers meanwhile of a matrix that is not in device memory.
class LuTraffic {
 public:
  virtual ~LuTraffic() = default;
  // Returns the number of columns that have arrived, or nearly, when the block of `step` is factored; never
  // fewer for a later step, and at least up to the next block.
  virtual std::int64_t arrived(const LuStep& step) const = 0;
  // Work queued on `stream` of GPU `owner` from now on begins after these columns of its own have arrived.
  virtual void hold_back(int owner, std::int64_t first, std::int64_t columns, CUstream_st* stream) = 0;
  // After the work that `stream` has, these rows are final in these columns, all of them the owner's.
  virtual void finished(int owner, std::int64_t row, std::int64_t rows, std::span<const LuColumns> columns,
                        CUstream_st* stream) = 0;
  // The same for rows 0 to rows - 1 of columns that arrived late.
  virtual void caught_up(int owner, std::int64_t rows, const LuColumns& columns, CUstream_st* stream) = 0;
};

class LuSchedule {
 public:
  // Engines of the same shape and type, each on a GPU that reaches the others.
  explicit LuSchedule(std::vector<LuEngine*> engines);

  // Queues the factorization after the work that `stream`, of the first engine's GPU, has, and before its
  // later work. One at a time, from one thread. `traffic` may be null.
  void queue(const std::vector<DeviceLuOperands>& operands, CUstream_st* stream, LuTraffic* traffic);

 private:
  struct Part {
    LuEngine* engine;
    GpuEvent factored, updated, moved, received, caught_up;
    bool has_caught_up = false;  // since L last moved
    explicit Part(LuEngine& e)
        : engine(&e),
          factored(e.gpu()),
          updated(e.gpu()),
          moved(e.gpu()),
          received(e.gpu()),
          caught_up(e.gpu()) {}
  };

  int owner_of(std::int64_t column) const { return int(column / nb_ % std::int64_t(parts_.size())); }
  void begin(const std::vector<DeviceLuOperands>& operands, CUstream_st* stream);
  void end(CUstream_st* stream);
  void factor(const LuStep& step);
  void share(const LuStep& step);
  void look_ahead(const LuStep& step, LuTraffic* traffic);
  void update_rest(const LuStep& step, LuTraffic* traffic);
  void move_left(const LuStep& step);
  void catch_up(const LuStep& step, std::int64_t first, std::int64_t columns, LuLane lane,
                LuTraffic* traffic);
  void finish_rows(const LuStep& step, LuTraffic* traffic);
  bool panels_take_longer(const LuStep& step) const;
  // Calls f(owner, first, columns) for each run of columns that one GPU has.
  template <class F>
  void for_each_run(std::int64_t first, std::int64_t end, F&& f) const;

  std::vector<Part> parts_;
  GpuEvent begun_;
  std::int64_t nb_, columns_;
  bool may_make_room_ = false;
  std::int64_t reached_ = 0;  // columns before this one are as far as the steps so far
};

// LU of a matrix in the memory of one GPU.
class DeviceLu {
 public:
  // Throws as LuEngine does.
  DeviceLu(std::shared_ptr<LuTools> tools, const LuShape& shape, const LuPace& pace)
      : engine_(std::move(tools), shape, pace), schedule_({&engine_}) {}

  const LuShape& shape() const { return engine_.shape(); }
  std::int64_t workspace_bytes() const { return engine_.workspace_bytes(); }
  // Queued in `stream`. By several threads, one at a time.
  void factor(const DeviceLuOperands& operands, CUstream_st* stream) {
    const std::lock_guard lock(engine_.tools().mutex());
    schedule_.queue({operands}, stream, nullptr);
  }

 private:
  LuEngine engine_;
  LuSchedule schedule_;
};

}  // namespace tilewright
