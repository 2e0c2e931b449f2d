// LU of a matrix whose blocks of columns are distributed cyclically over the members of a team, each with its
// GPU: right-looking with the next block ahead, as schedule.cpp queues it for GPUs of one process. A member's
// columns lie contiguously on its device, followed by two places for the blocks of others.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "core/dispatch.hpp"
#include "core/refuse.hpp"
#include "device/gpu/copies.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/hybrid/node.hpp"
#include "local_columns.hpp"
#include "lu/candidates.hpp"
#include "lu/device/engine.hpp"
#include "lu/device/tools.hpp"
#include "lu/updates.hpp"
#include "lu/validate.hpp"
#include "tilewright/multinode.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t block_places = 2;  // for blocks of others: one is used while the next arrives

struct CyclicJob {
  LuShape shape;  // shape of the whole matrix on the device
  void* a = nullptr;
  std::int64_t lda = 0;
  std::int64_t* pivots = nullptr;
  const LuTeam* team = nullptr;
  std::int64_t own_columns = 0;
};

std::int64_t device_bytes(const LuShape& shape, std::int64_t own_columns) {
  return shape.lda * (own_columns + block_places * shape.nb) * size_bytes(shape.dtype);
}

class CyclicLu {
 public:
  CyclicLu(const CyclicJob& job, std::shared_ptr<LuTools> tools, const LuPace& pace)
      : job_(job),
        engine_(std::move(tools), job.shape, pace),
        gpu_(engine_.gpu()),
        a_(gpu_, std::size_t(device_bytes(job.shape, job.own_columns))),
        pivots_(gpu_, std::size_t(least() * 8)),
        info_(gpu_, 8),
        workspace_(gpu_, std::size_t(engine_.workspace_bytes())),
        copies_(gpu_),
        factored_(gpu_),
        updated_(gpu_) {
    for (std::int64_t i = 0; i < block_places; ++i)
      places_.emplace_back(gpu_, job.team->members == 1 ? 0 : message_bytes(job.shape.m, nb()));
  }

  // Returns the first zero pivot of this member's blocks.
  std::int64_t run() {
    const Gpu::Current current(gpu_);
    move_columns(true);
    engine_.begin({a_.as<void>(), pivots_.as<long long>(), info_.as<long long>(), workspace_.as<void>()});
    if (is_own(0)) factor(step_at(0));
    for (int i = 0; i < engine_.steps(); ++i) {
      const LuStep step = step_at(i);
      if (job_.team->members > 1) is_own(i) ? send(step) : receive(step);
      (is_own(i) ? factored_ : place_of(step).arrived).hold_back(engine_.stream(LuLane::update));
      look_ahead(step);
      update_rest(step);
    }
    for (const LuLane lane : {LuLane::panel, LuLane::update}) {
      factored_.record(engine_.stream(lane));
      factored_.synchronize();
    }
    move_columns(false);
    return read_results();
  }

 private:
  std::int64_t nb() const { return job_.shape.nb; }
  std::int64_t least() const { return std::min(job_.shape.m, job_.shape.n); }
  std::int64_t element_bytes() const { return size_bytes(job_.shape.dtype); }
  int owner_of(int index) const { return index % job_.team->members; }
  bool is_own(int index) const { return owner_of(index) == job_.team->own; }
  // Returns the number of this member's columns that lie before column `column` of the matrix.
  std::int64_t own_before(std::int64_t column) const {
    return local_columns(column, nb(), job_.team->own, job_.team->members);
  }
  // The buffer of a block's message, and the events of its arrival and of its last read on either stream.
  struct BlockPlace {
    BlockPlace(const Gpu& gpu, std::int64_t bytes)
        : message(gpu, std::size_t(std::max<std::int64_t>(bytes, 8))),
          arrived(gpu),
          looked_ahead(gpu),
          updated(gpu) {}
    PinnedBuffer message;
    GpuEvent arrived, looked_ahead, updated;
  };
  BlockPlace& place_of(const LuStep& step) { return places_[std::size_t(step.index % block_places)]; }

  LuStep step_at(int index) const {
    LuStep step = engine_.step_at(index);
    step.column = is_own(index) ? own_before(step.first) : job_.own_columns + index % block_places * nb();
    return step;
  }

  // A message holds the block's columns from its first row on, its companions, and its pivots.
  std::int64_t message_bytes(std::int64_t rows, std::int64_t columns) const {
    return rows * columns * element_bytes() + columns * 8 + engine_.companion_bytes();
  }
  // Calls block(device, message, columns), then piece(device, message, bytes) for the data that follow it.
  template <class Block, class Piece>
  std::int64_t walk(const LuStep& step, char* at, Block&& block, Piece&& piece) {
    const std::int64_t rows = job_.shape.m - step.first, column_bytes = rows * element_bytes();
    CopiedBlock columns;
    columns.piece_bytes = columns.host_pitch = std::size_t(column_bytes);
    columns.pieces = std::size_t(step.columns);
    columns.device_pitch = std::size_t(job_.shape.lda * element_bytes());
    const char* const begin = at;
    block(engine_.at(step.first, step.column).data, at, columns);
    at += column_bytes * step.columns;
    for (const auto& one : engine_.companions_of(step)) {
      piece(one.data, at, one.bytes);
      at += one.bytes;
    }
    piece(pivots_.as<char>(std::size_t(step.first * 8)), at, step.columns * 8);
    at += step.columns * 8;
    return at - begin;
  }

  // The caller's matrix is on the host: its columns are copied to the device at the beginning and back at the
  // end.
  void move_columns(bool in) {
    if (job_.own_columns == 0) return;
    CopiedBlock all;
    all.piece_bytes = std::size_t(job_.shape.m * element_bytes());
    all.pieces = std::size_t(job_.own_columns);
    all.device_pitch = std::size_t(job_.shape.lda * element_bytes());
    all.host_pitch = std::size_t(job_.lda * element_bytes());
    in ? queue_to_device(gpu_, a_.as<void>(), job_.a, all, copies_.get())
       : queue_to_host(gpu_, job_.a, a_.as<void>(), all, copies_.get());
    copies_.synchronize();
  }

  void factor(const LuStep& step) {
    engine_.factor_block(step);
    factored_.record(engine_.stream(LuLane::panel));
  }

  void send(const LuStep& step) {
    CUstream_st* const on = copies_.get();
    BlockPlace& place = place_of(step);
    char* const at = static_cast<char*>(place.message.data());
    place.arrived.synchronize();  // the previous block of this place has reached the device
    factored_.hold_back(on);
    const std::int64_t bytes = walk(
        step, at,
        [&](void* device, char* host, const CopiedBlock& block) {
          queue_to_host(gpu_, host, device, block, on);
        },
        [&](void* device, char* host, std::int64_t count) {
          queue_to_host(gpu_, host, device, std::size_t(count), on);
        });
    copies_.synchronize();
    job_.team->broadcast(at, bytes, job_.team->own);
    std::memcpy(job_.pivots + step.first, at + bytes - step.columns * 8, std::size_t(step.columns) * 8);
  }

  void receive(const LuStep& step) {
    CUstream_st* const on = copies_.get();
    BlockPlace& place = place_of(step);
    char* const at = static_cast<char*>(place.message.data());
    place.arrived.synchronize();
    const auto none = [](auto&&...) {};
    const std::int64_t bytes = walk(step, at, none, none);
    job_.team->broadcast(at, bytes, owner_of(step.index));
    // The block before the last one used the same place, and is read until these events.
    place.updated.hold_back(on), place.looked_ahead.hold_back(on);
    walk(
        step, at,
        [&](void* device, char* host, const CopiedBlock& block) {
          queue_to_device(gpu_, device, host, block, on);
        },
        [&](void* device, char* host, std::int64_t count) {
          queue_to_device(gpu_, device, host, std::size_t(count), on);
        });
    place.arrived.record(on);
    std::memcpy(job_.pivots + step.first, at + bytes - step.columns * 8, std::size_t(step.columns) * 8);
  }

  void look_ahead(const LuStep& step) {
    if (step.index + 1 == engine_.steps() || !is_own(step.index + 1)) return;
    const LuStep next = step_at(step.index + 1);
    CUstream_st* const panels = engine_.stream(LuLane::panel);
    updated_.hold_back(panels);  // the update before this one wrote its columns
    if (!is_own(step.index)) place_of(step).arrived.hold_back(panels);
    engine_.update(step, next.column, next.columns, LuLane::panel);
    place_of(step).looked_ahead.record(panels);
    factor(next);
  }

  void update_rest(const LuStep& step) {
    CUstream_st* const updates = engine_.stream(LuLane::update);
    const bool is_ahead = step.index + 1 < engine_.steps() && is_own(step.index + 1);
    const std::int64_t first =
        is_ahead ? own_before(engine_.step_at(step.index + 1).end()) : own_before(step.end());
    if (first < job_.own_columns) engine_.update(step, first, job_.own_columns - first, LuLane::update);
    if (const std::int64_t left = own_before(step.first); left > 0)
      engine_.move(step, 0, left, LuLane::update);
    updated_.record(updates);
    place_of(step).updated.record(updates);
  }

  std::int64_t read_results() {
    if (job_.team->members == 1) gpu_.read(job_.pivots, pivots_.as<void>(), std::size_t(least() * 8));
    long long info = 0;
    gpu_.read(&info, info_.as<void>(), sizeof info);
    if (info == lu_panel_waited_in_vain)
      throw Error(ErrorCode::device_lost, "gpu",
                  fmt::format("blocks of a panel waited too long for one another on {}", gpu_.limits().name));
    return info;
  }

  const CyclicJob& job_;
  LuEngine engine_;
  const Gpu& gpu_;
  GpuBuffer a_, pivots_, info_, workspace_;
  GpuStream copies_;
  GpuEvent factored_, updated_;
  std::vector<BlockPlace> places_;
};

LuShape shape_of(DType dtype, std::int64_t m, std::int64_t n, std::int64_t nb) {
  return {dtype, m, n, device_ld(m, dtype), nb};
}

// A member's GPU, with all errors that can be found before memory is allocated.
struct Member {
  std::string reason;  // the reason why it cannot take part
  std::shared_ptr<LuTools> tools;
  LuPace pace;
};

Member member_of(Context& context, const LuShape& shape, std::int64_t own_columns, const LuOptions& options) {
  Member member;
  HybridNode& hybrid = *Access::impl(context).hybrid;
  if (std::string why_none; hybrid.gpus(&why_none).empty()) {
    member.reason = "no GPU: " + why_none;
    return member;
  }
  const LuProblem part{shape.dtype, shape.m, std::max<std::int64_t>(1, own_columns), shape.m};
  const HybridModels models = largest_update_models({context, part, options});
  const int position = models.request.gpus.front();
  member.pace = {models.node->gpus[std::size_t(position)].gemm[std::size_t(shape.dtype)]};
  member.tools = LuMachines::of(Access::impl(context)).tools(hybrid.gpus()[std::size_t(position)].ordinal);
  // Compiles the kernels, or throws an error for sizes that no kernel supports.
  const LuEngine engine(member.tools, shape, member.pace);
  const std::int64_t free = hybrid.open(std::span(&position, 1)), cap = models.request.memory_bytes,
                     allowed = cap > 0 ? std::min(free, cap) : free;
  const std::int64_t needed =
      device_bytes(shape, own_columns) + engine.workspace_bytes() + std::min(shape.m, shape.n) * 8;
  if (needed > allowed)
    member.reason = fmt::format("its columns need {} MiB of a GPU that has {}", needed >> 20, allowed >> 20);
  return member;
}

void validate(const LuTeam& team, std::int64_t nb) {
  if (nb < 1) refuse_argument("nb", fmt::format("nb = {} must be at least 1", nb));
  if (team.members < 1)
    refuse_argument("team.members", fmt::format("team.members = {} must be at least 1", team.members));
  if (team.own < 0 || team.own >= team.members)
    refuse_argument("team.own",
                    fmt::format("team.own = {} is not one of the {} members", team.own, team.members));
  if (team.members > 1 && !team.broadcast) refuse_argument("team.broadcast", "team.broadcast is empty");
}

}  // namespace

std::string why_not_cyclic(Context& context, DType dtype, std::int64_t m, std::int64_t n, std::int64_t nb,
                           const LuTeam& team, const LuOptions& options) {
  validate(team, nb), validate(options);
  validate(LuProblem{dtype, m, n, std::max<std::int64_t>(1, m)});
  if (m == 0 || n == 0) return "";
  if (nb > LuEngine::most_nb) return fmt::format("nb = {} must be at most {}", nb, LuEngine::most_nb);
  try {
    return member_of(context, shape_of(dtype, m, n, nb), local_columns(n, nb, team.own, team.members),
                     options)
        .reason;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_argument) throw;
    return error.what();
  }
}

template <class T>
LuReport lu_factor_cyclic(Context& context, std::int64_t m, std::int64_t n, std::int64_t nb, T* a,
                          std::int64_t lda, std::int64_t* pivots, const LuTeam& team,
                          const LuOptions& options) {
  validate(team, nb), validate(options);
  const std::int64_t own_columns =
      m > 0 && n > 0 ? local_columns(n, nb, team.own, team.members) : std::int64_t(0);
  refuse_negative("m", m), refuse_negative("n", n);
  validate(LuMatrix{"a", a, m, own_columns, "lda", lda, dtype_of<T>});
  LuReport report;
  if (m == 0 || n == 0) return report;
  if (pivots == nullptr) refuse_argument("pivots", "pivots is null");
  CyclicJob job;
  job.shape = shape_of(dtype_of<T>, m, n, nb);
  job.a = a, job.lda = lda, job.pivots = pivots, job.team = &team, job.own_columns = own_columns;
  const Member member = member_of(context, job.shape, own_columns, options);
  if (!member.reason.empty()) throw Error(ErrorCode::unsupported, "target", member.reason);
  const std::lock_guard lock(member.tools->mutex());
  report.info = CyclicLu(job, member.tools, member.pace).run();
  report.candidate = "cyclic", report.nb = nb, report.gpus = 1;
  return report;
}

#define TILEWRIGHT_INSTANTIATE(T)                                                                          \
  template LuReport lu_factor_cyclic(Context&, std::int64_t, std::int64_t, std::int64_t, T*, std::int64_t, \
                                     std::int64_t*, const LuTeam&, const LuOptions&);
TILEWRIGHT_FOR_TYPES(TILEWRIGHT_INSTANTIATE)
#undef TILEWRIGHT_INSTANTIATE

}  // namespace tilewright
