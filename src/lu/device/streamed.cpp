// Whole blocks of columns are copied in; rows are copied back when enough of them are final, since a copy
// needs as long for each piece of a column as for 6 KB. Kernels that wrote to the host were slower.
#include "lu/device/streamed.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "gemm/hybrid/stream/staging.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t ring_bytes = std::int64_t(64) << 20;
constexpr std::int64_t least_copied_bytes = 8192;

LuShape shape_of(const StreamedLuJob& job) {
  return {job.dtype, job.m, job.n, device_ld(job.m, job.dtype), job.nb};
}

// Rows that are final and have not been sent back: in each run of columns from its own row to one common end.
class FinalRows {
 public:
  struct Run {
    std::int64_t columns = 0, row = 0;
  };

  void add(std::int64_t row, std::int64_t rows, std::int64_t first, std::int64_t columns) {
    end_ = row + rows;
    for (std::int64_t at = first; at < first + columns;) {
      const auto it = runs_.find(at);
      if (it == runs_.end()) runs_[at] = {first + columns - at, row};
      at += runs_[at].columns;
    }
  }
  std::int64_t most_rows() const {
    std::int64_t most = 0;
    for (const auto& [first, run] : runs_) most = std::max(most, end_ - run.row);
    return most;
  }
  std::map<std::int64_t, Run> take() { return std::exchange(runs_, {}); }

 private:
  std::map<std::int64_t, Run> runs_;  // by their first column
  std::int64_t end_ = 0;
};

class Streamed : public LuTraffic {
 public:
  Streamed(const StreamedLuJob& job, StreamedLuReport& report) : job_(job), report_(report) {
    for (const StreamedLuGpu& gpu : job.gpus) parts_.push_back(std::make_unique<Part>(job, gpu));
    report_.nb = parts_.front()->engine.shape().nb;
    const double bytes = double(job.m * size_bytes(job.dtype));
    const StreamedLuGpu& first = job.gpus.front();
    plan_.emplace(parts_.front()->engine.shape(), parts_.front()->engine.pace(), int(parts_.size()),
                  first.to_device.s_per_byte * bytes, first.to_host.s_per_byte * bytes);
    list_blocks();
  }

  void run() {
    try {
      queue();
    } catch (...) {
      wait_at_any_rate();
      throw;
    }
  }

  std::int64_t arrived(const LuStep& step) const override { return plan_->arrived(step); }

  void hold_back(int owner, std::int64_t first, std::int64_t columns, CUstream_st* stream) override {
    Part& part = *parts_[std::size_t(owner)];
    for (std::int64_t i = first / nb(); i * nb() < first + columns; ++i) {
      const std::size_t local = std::size_t(i / std::int64_t(parts_.size()));
      while (part.input && part.arrived.size() <= local) {
        part.input->copy_next();
        part.mark_arrival();
      }
      if (part.output) part.output->serve();
      part.arrived[local].hold_back(stream);
    }
  }

  void finished(int owner, std::int64_t row, std::int64_t rows, std::span<const LuColumns> columns,
                CUstream_st* stream) override {
    Part& part = *parts_[std::size_t(owner)];
    for (const LuColumns& run : columns) part.rows.add(row, rows, run.first, run.count);
    if (row + rows < job_.m && part.rows.most_rows() * element_bytes() < least_copied_bytes) return;
    hold_back_copies(part, stream);
    const std::int64_t end = row + rows;
    for (const auto& [first, run] : part.rows.take())
      send_back(part, run.row, end - run.row, first, run.columns);
  }

  void caught_up(int owner, std::int64_t rows, const LuColumns& columns, CUstream_st* stream) override {
    Part& part = *parts_[std::size_t(owner)];
    hold_back_copies(part, stream);
    send_back(part, 0, rows, columns.first, columns.count);
  }

 private:
  struct Part {
    StreamDevice& device;
    LuEngine engine;
    std::unique_ptr<DeviceMemory> a, pivots, info, workspace;
    std::vector<GpuEvent> arrived;  // of its blocks of columns
    GpuEvent done;
    FinalRows rows;
    std::optional<StagedInput> input;
    std::optional<StagedOutput> output;

    Part(const StreamedLuJob& job, const StreamedLuGpu& gpu)
        : device(*gpu.device),
          engine(gpu.tools, shape_of(job), {job.product}),
          a(device.allocate(engine.shape().lda * job.n * size_bytes(job.dtype))),
          pivots(device.allocate(std::min(job.m, job.n) * 8)),
          info(device.allocate(8)),
          workspace(device.allocate(engine.workspace_bytes())),
          done(engine.gpu()) {}

    DeviceLuOperands operands() const {
      return {a->data(), static_cast<long long*>(pivots->data()), static_cast<long long*>(info->data()),
              workspace->data()};
    }
    void mark_arrival() {
      arrived.emplace_back(engine.gpu());
      arrived.back().record(device.native_stream(Lane::in));
    }
  };

  std::int64_t nb() const { return report_.nb; }
  std::int64_t element_bytes() const { return size_bytes(job_.dtype); }
  Block host_at(std::int64_t row, std::int64_t column) const {
    return {static_cast<char*>(job_.a) + (column * job_.lda + row) * element_bytes(),
            job_.lda * element_bytes()};
  }

  // Copies wait for the work that the stream has now.
  static void hold_back_copies(Part& part, CUstream_st* stream) {
    const Gpu::Current current(part.engine.gpu());
    part.done.record(stream);
    part.done.hold_back(part.device.native_stream(part.output ? Lane::compute : Lane::out));
  }

  void send_back(Part& part, std::int64_t row, std::int64_t rows, std::int64_t first, std::int64_t columns) {
    report_.wrote = true;
    const std::int64_t pitch = part.engine.shape().lda * element_bytes();
    const StagedBlock whole{
        host_at(row, first),
        {static_cast<char*>(part.a->data()) + first * pitch + row * element_bytes(), pitch},
        {rows, columns, int(element_bytes())}};
    if (job_.pinned) return part.device.copy_out(whole.host, whole.device, whole.shape);
    const StreamDevice::Mark mark = part.device.mark(Lane::compute);
    for (const StagedBlock& piece : pieces_of(whole, part.output->slot_bytes()))
      part.output->add(0, piece, mark);
    part.output->serve();
  }

  // Each GPU's blocks of columns, in order: those of pinned memory are queued at once.
  void list_blocks() {
    std::vector<std::vector<StagedBlock>> blocks(parts_.size());
    for (std::int64_t first = 0; first < job_.n; first += nb()) {
      const std::size_t owner = std::size_t(first / nb()) % parts_.size();
      const Part& part = *parts_[owner];
      const std::int64_t pitch = part.engine.shape().lda * element_bytes();
      blocks[owner].push_back({host_at(0, first),
                               {static_cast<char*>(part.a->data()) + first * pitch, pitch},
                               {job_.m, std::min(nb(), job_.n - first), int(element_bytes())}});
    }
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (job_.pinned)
        blocks_.push_back(std::move(blocks[i]));
      else {
        std::int64_t bytes = 0;
        for (const StagedBlock& block : blocks[i]) bytes += block.shape.bytes();
        parts_[i]->input.emplace(parts_[i]->device, *job_.copiers, ring_size(ring_bytes, bytes), blocks[i]);
        parts_[i]->output.emplace(parts_[i]->device, *job_.copiers, ring_size(ring_bytes, ring_bytes),
                                  [](int) {});
      }
    }
  }

  void queue_pinned_copies() {
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      for (const StagedBlock& block : blocks_[i]) {
        parts_[i]->device.copy_in(block.device, block.host, block.shape);
        parts_[i]->mark_arrival();
      }
  }

  void queue() {
    std::vector<LuEngine*> engines;
    std::vector<DeviceLuOperands> operands;
    std::vector<std::unique_lock<LongMutex>> locks;
    for (const auto& part : parts_) {
      locks.emplace_back(part->engine.tools().mutex());
      engines.push_back(&part->engine);
      operands.push_back(part->operands());
    }
    queue_pinned_copies();
    LuSchedule schedule(engines);
    schedule.queue(operands, parts_.front()->device.native_stream(Lane::compute), this);
    for (const auto& part : parts_)
      if (part->output) part->output->finish();
    wait();
    read_results();
  }

  void wait() {
    for (const auto& part : parts_) {
      const Gpu::Current current(part->engine.gpu());
      for (const LuLane lane : {LuLane::panel, LuLane::update}) {
        part->done.record(part->engine.stream(lane));
        part->done.synchronize();
      }
      part->device.wait_all();
    }
  }

  // Queued work uses the caller's matrix, and buffers that others get afterwards.
  void wait_at_any_rate() noexcept {
    for (const auto& part : parts_) {
      part->engine.tools().wait_at_any_rate();
      try {
        part->device.wait_all();
      } catch (...) {
        // The device is lost and does nothing any more.
      }
    }
  }

  // Each GPU has the pivots of its own blocks.
  void read_results() {
    const std::int64_t least = std::min(job_.m, job_.n);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Gpu& gpu = parts_[i]->engine.gpu();
      std::vector<std::int64_t> own(static_cast<std::size_t>(least));
      gpu.read(own.data(), parts_[i]->pivots->data(), own.size() * 8);
      for (std::int64_t first = 0; first < least; first += nb())
        if (std::size_t(first / nb()) % parts_.size() == i)
          std::copy_n(own.begin() + first, std::min(nb(), least - first), job_.pivots + first);
      long long info = 0;
      gpu.read(&info, parts_[i]->info->data(), sizeof info);
      if (info == lu_panel_waited_in_vain)
        throw Error(
            ErrorCode::device_lost, "gpu",
            fmt::format("blocks of a panel waited too long for one another on {}", gpu.limits().name));
      if (info > 0 && (report_.info == 0 || info < report_.info)) report_.info = info;
    }
  }

  const StreamedLuJob& job_;
  StreamedLuReport& report_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<std::vector<StagedBlock>> blocks_;  // of pinned memory, by GPU
  std::optional<StreamedLuPlan> plan_;
};

}  // namespace

// Keeps a clock for panels, one for updates and one for columns that arrive.
StreamedLuPlan::StreamedLuPlan(const LuShape& wanted, const LuPace& pace, int gpus, double column_up_s,
                               double column_down_s) {
  constexpr int width = 32;
  const LuShape shape = with_nb(wanted);
  const int steps = int((std::min(shape.m, shape.n) + shape.nb - 1) / shape.nb);
  const double up_s = column_up_s / gpus;  // links side by side
  double panel = 0, update = 0;            // when each is done with what it has
  const auto product = [&](double rows, double columns, double k) {
    return rows > 0 && columns > 0 ? pace.product.of(rows, columns, k) : 0;
  };
  for (int i = 0; i < steps; ++i) {
    const LuStep step = lu_step(shape, i);
    const double rows = double(shape.m - step.end());
    panel = std::max(panel, double(step.end()) * up_s) +
            product(double(shape.m - step.first), double(step.columns), double(shape.nb)) +
            pace.block_s(shape.m - step.first, step.columns, width);
    std::int64_t arrived = std::int64_t(up_s > 0 ? std::max(panel, update) / up_s : double(shape.n));
    const bool last = i + 1 == steps;
    const std::int64_t next = last ? shape.n : lu_step(shape, i + 1).end();
    arrived = std::clamp(arrived / shape.nb * shape.nb, next, std::max(next, shape.n));
    if (arrived + shape.nb > shape.n) arrived = shape.n;
    const std::int64_t before = i == 0 ? step.end() : arrived_.back();
    arrived = std::max(arrived, before);
    arrived_.push_back(arrived);
    // New columns catch up with all steps so far, the others take one.
    update =
        std::max({update, panel, double(arrived) * up_s}) +
        (product(double(shape.m) - double(step.first) / 2, double(arrived - before), double(step.first)) +
         product(rows, double(arrived - step.end()), double(step.columns))) /
            gpus;
  }
  // The last rows go down at the end.
  seconds_ = std::max(panel, update) + column_down_s / gpus * double(std::min(shape.nb, shape.n));
  seconds_ = std::max(seconds_, column_down_s / gpus * double(shape.n));
}

void factor_streamed(const StreamedLuJob& job, StreamedLuReport& report) { Streamed(job, report).run(); }

std::int64_t streamed_lu_bytes(const LuShape& shape) {
  const std::int64_t nb = with_nb(shape).nb;
  const std::int64_t elements = device_ld(shape.m, shape.dtype) * shape.n + nb * (shape.n + shape.m + 2 * nb);
  constexpr std::int64_t other = std::int64_t(64) << 20;
  return elements * size_bytes(shape.dtype) + other;
}

}  // namespace tilewright
