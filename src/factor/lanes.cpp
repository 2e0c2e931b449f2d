// Candidate lanes: groups of problems are brought into vectors, one problem per lane, computed there by
// kernel/factor_cpu, and brought back, while all of a group stays in the cache.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "factor/candidates.hpp"
#include "gemm/parallel.hpp"
#include "kernel/layout/layout.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t group_bytes = 24
                                     << 10;  // A and B of a group, beside each other in a first-level cache
constexpr std::int64_t most_slots = 128;
constexpr std::int64_t least_announced = 1 << 10;  // bytes of a matrix

// Copies between a batch and the vectors of a group.
class LaneCopies {
 public:
  LaneCopies(const FactorOperand& operand, std::int64_t slots)
      : LaneCopies(operand, slots, lies_by_rows(operand)) {}
  // by_rows: how the group holds the matrices.
  LaneCopies(const FactorOperand& operand, std::int64_t slots, bool by_rows)
      : operand_(operand), slots_(slots), by_rows_(by_rows) {}

  static bool lies_by_rows(const FactorOperand& x) {
    return x.block == 0 && x.col_stride == 1 && x.row_stride != 1;
  }
  bool by_rows() const { return by_rows_; }

  // Problems behind the last one repeat it, so that no lane computes with what was never a matrix.
  void load(std::int64_t first, std::int64_t count, void* to) const {
    if (operand_.block > 0) return load_slots(first, count, static_cast<char*>(to));
    const void* matrices[most_slots];
    operand_.addresses(first, count, matrices);
    std::fill(matrices + count, matrices + slots_, matrices[count - 1]);
    each_copy(slots_, static_cast<char*>(to), [&](const GroupCopy& copy, std::int64_t from, char* slots) {
      if (from == 0) return interleave_group(copy, matrices, slots);
      const void* shifted[most_slots];
      for (std::int64_t s = 0; s < slots_; ++s) shifted[s] = static_cast<const char*>(matrices[s]) + from;
      interleave_group(copy, shifted, slots);
    });
  }

  // Asks for the lines of the caches that packed problems lie in, to read or to write them soon: some KiB of
  // each are too short a stream for what a processor foresees.
  template <int Write>
  void announce(std::int64_t first, std::int64_t count) const {
    const FactorOperand& x = operand_;
    const std::int64_t size = x.rows * x.cols * bytes();
    const bool is_packed =
        (x.row_stride == 1 && x.col_stride == x.rows) || (x.col_stride == 1 && x.row_stride == x.cols);
    if (count <= 0 || x.block > 0 || !is_packed || size < least_announced || size * count > group_bytes)
      return;
    const void* matrices[most_slots];
    x.addresses(first, count, matrices);
    for (std::int64_t s = 0; s < count; ++s)
      for (std::int64_t at = 0; at < size; at += 64)
        __builtin_prefetch(static_cast<const char*>(matrices[s]) + at, Write, 2);
  }

  // Writes the problems whose info is 0, or all if infos is null.
  void store(std::int64_t first, std::int64_t count, char* from, const int* infos) const {
    const bool all =
        infos == nullptr || std::all_of(infos, infos + count, [](int info) { return info == 0; });
    if (all && operand_.block == 0) return store_run(first, 0, count, from);
    for (std::int64_t s = 0; s < count; ++s) {
      if (!all && infos[s] != 0) continue;
      if (operand_.block > 0)
        store_slot(first, s, from);
      else
        store_run(first, s, 1, from);
    }
  }

 private:
  std::int64_t bytes() const { return operand_.element_bytes; }

  // Calls f(copy, offset in a matrix, its place among the slots) for the copies that move whole matrices.
  template <class F>
  void each_copy(std::int64_t count, char* slots, F&& f) const {
    const FactorOperand& x = operand_;
    const bool rows = by_rows_;
    const std::int64_t inner = rows ? x.cols : x.rows, outer = rows ? x.rows : x.cols;
    const std::int64_t stride = rows ? x.col_stride : x.row_stride, step = rows ? x.row_stride : x.col_stride,
                       line = lane_line(inner);
    GroupCopy copy;
    copy.element_bytes = int(bytes()), copy.count = count, copy.slot_count = count;
    copy.pitch = slots_ * bytes();
    if (stride == 1 || inner == 1) {
      copy.rows = inner, copy.runs = outer, copy.matrix_step = step * bytes(),
      copy.slots_step = line * copy.pitch;
      if (step == inner && line == inner) copy.rows *= outer, copy.runs = 1;
      return f(copy, 0, slots);
    }
    copy.rows = 1, copy.runs = inner, copy.matrix_step = stride * bytes(), copy.slots_step = copy.pitch;
    for (std::int64_t j = 0; j < outer; ++j) f(copy, j * step * bytes(), slots + j * line * copy.pitch);
  }

  void store_run(std::int64_t first, std::int64_t slot, std::int64_t count, char* from) const {
    void* matrices[most_slots];
    operand_.addresses(first + slot, count, const_cast<const void**>(matrices));
    each_copy(count, from + slot * bytes(), [&](const GroupCopy& copy, std::int64_t at, char* slots) {
      if (at == 0) return deinterleave_group(copy, slots, matrices);
      void* shifted[most_slots];
      for (std::int64_t s = 0; s < count; ++s) shifted[s] = static_cast<char*>(matrices[s]) + at;
      deinterleave_group(copy, slots, shifted);
    });
  }

  // Interleaved batches have neighbouring problems side by side already.
  template <class F>
  void each_element(F&& f) const {
    for (std::int64_t j = 0; j < operand_.cols; ++j)
      for (std::int64_t i = 0; i < operand_.rows; ++i)
        f((i * operand_.row_step() + j * operand_.col_step()) * bytes(),
          (by_rows_ ? i * lane_line(operand_.cols) + j : j * lane_line(operand_.rows) + i) * slots_ *
              bytes());
  }
  void load_slots(std::int64_t first, std::int64_t count, char* to) const {
    for (std::int64_t s = 0; s < slots_;) {
      const std::int64_t p = first + std::min(s, count - 1);
      const std::int64_t run = s < count ? std::min(count - s, operand_.block - p % operand_.block) : 1;
      const char* const from = operand_.address(p);
      each_element([&](std::int64_t at, std::int64_t slot) {
        std::memcpy(to + slot + s * bytes(), from + at, std::size_t(run * bytes()));
      });
      s += run;
    }
  }
  void store_slot(std::int64_t first, std::int64_t s, const char* from) const {
    char* const to = operand_.address(first + s);
    each_element([&](std::int64_t at, std::int64_t slot) {
      std::memcpy(to + at, from + slot + s * bytes(), std::size_t(bytes()));
    });
  }

  const FactorOperand& operand_;
  std::int64_t slots_;
  bool by_rows_;
};

// Memory aligned for vectors.
class LaneMemory {
 public:
  explicit LaneMemory(std::int64_t bytes)
      : data_(static_cast<char*>(::operator new(std::size_t(bytes), std::align_val_t(64)))) {}
  char* data() const { return data_.get(); }

 private:
  struct Delete {
    void operator()(char* data) const { ::operator delete(data, std::align_val_t(64)); }
  };
  std::unique_ptr<char, Delete> data_;
};

std::int64_t bytes_of_b(const FactorWork& work) {
  if (work.makes_factor()) return 0;  // A's place holds it
  if (work.shape.routine == Routine::getri)
    return lane_elements(work.shape.n, work.shape.n) * work.element_bytes();
  return work.has_b ? lane_elements(work.b.rows, work.b.cols) * work.element_bytes() : 0;
}

std::int64_t bytes_of_c(const FactorWork& work) {
  return work.has_c ? lane_elements(work.c.rows, work.c.cols) * work.element_bytes() : 0;
}

// Slots of a group: as many vectors as the cache holds and the batch fills.
std::int64_t slots_of_group(const FactorWork& work) {
  const std::int64_t vector = lane_slots(work.shape.dtype);
  const std::int64_t bytes =
      lane_elements(work.a.rows, work.a.cols) * work.element_bytes() + bytes_of_b(work) + bytes_of_c(work);
  const std::int64_t fits = group_bytes / std::max<std::int64_t>(1, bytes * vector);
  const std::int64_t filled = (work.count + vector - 1) / vector;
  return vector * std::clamp<std::int64_t>(std::min(fits, filled), 1, most_slots / vector);
}

// One thread's part of a call.
class LaneRun {
 public:
  LaneRun(const FactorWork& work, FactorInfo& info)
      : work_(work),
        info_(info),
        kernel_(find_lane_kernel(work.shape)),
        slots_(slots_of_group(work)),
        a_bytes_(in_lines(lane_elements(work.a.rows, work.a.cols) * work.element_bytes() * slots_)),
        b_bytes_(in_lines(bytes_of_b(work) * slots_)),
        c_bytes_(in_lines(bytes_of_c(work) * slots_)),
        values_bytes_(in_lines(work.values.count * work.element_bytes() * slots_)),
        memory_(a_bytes_ + b_bytes_ + c_bytes_ + values_bytes_ + lane_work_bytes(work.shape)),
        pivots_(std::size_t(wants_pivots(work) ? work.steps() * slots_ : 0)) {}

  void run(std::int64_t first, std::int64_t count) {
    for (std::int64_t done = 0; done < count; done += slots_) {
      const std::int64_t behind = first + done + slots_;
      run_group(first + done, std::min(slots_, count - done), behind,
                std::min(slots_, first + count - behind));
    }
  }

 private:
  // Of an inverse they place the elements of the permutation.
  static bool wants_pivots(const FactorWork& work) {
    return work.pivots_out != nullptr || work.pivots_in != nullptr || work.shape.routine == Routine::inv;
  }
  static std::int64_t in_lines(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

  // And announces the `next_count` problems from `next` on.
  void run_group(std::int64_t first, std::int64_t count, std::int64_t next, std::int64_t next_count) {
    int infos[most_slots] = {};
    LaneGroup group;
    group.slots = slots_;
    group.a = memory_.data();
    group.b = memory_.data() + a_bytes_;
    group.c = static_cast<char*>(group.b) + b_bytes_;
    group.values = static_cast<char*>(group.c) + c_bytes_;
    group.work = static_cast<char*>(group.values) + values_bytes_;
    group.pivots = pivots_.empty() ? nullptr : pivots_.data(), group.info = infos, group.alpha = work_.alpha;
    const LaneCopies b(work_.b, slots_), c(work_.c, slots_);
    const LaneCopies a(work_.a, slots_,
                       work_.makes_factor() ? b.by_rows() : LaneCopies::lies_by_rows(work_.a));
    group.a_by_rows = a.by_rows();
    group.b_by_rows = work_.has_b ? b.by_rows() : group.a_by_rows;
    group.c_by_rows = c.by_rows();
    a.load(first, count, group.a);
    if (work_.has_b && !work_.makes_b()) b.load(first, count, group.b);
    if (work_.pivots_in != nullptr) take_pivots(first, count);
    if (work_.values.in != nullptr) take_values(first, count, static_cast<char*>(group.values));
    a.announce<0>(next, next_count);
    if (work_.has_b) b.announce<1>(next, next_count);
    kernel_(work_.shape, group);
    store(first, count, group, a, b);
    if (work_.has_c) c.store(first, count, static_cast<char*>(group.c), group.info);
  }

  // A factorization is written as far as it came; solutions and inverses of problems without one are not.
  void store(std::int64_t first, std::int64_t count, const LaneGroup& group, const LaneCopies& a,
             const LaneCopies& b) {
    const Routine routine = work_.shape.routine;
    if (work_.makes_factor()) {
      clear_triangle(group);
      b.store(first, count, static_cast<char*>(group.a), nullptr);
      return info_.put(first, count, group.info);
    }
    const bool factors = routine == Routine::potrf || routine == Routine::getrf || routine == Routine::geqrf;
    if (routine == Routine::getri)
      a.store(first, count, static_cast<char*>(group.b), group.info);
    else if (work_.writes_a)
      a.store(first, count, static_cast<char*>(group.a), factors ? nullptr : group.info);
    if (work_.has_b) b.store(first, count, static_cast<char*>(group.b), group.info);
    if (work_.pivots_out != nullptr) give_pivots(first, count);
    if (work_.values.out != nullptr) give_values(first, count, static_cast<const char*>(group.values));
    info_.put(first, count, group.info);
  }

  // Zeros beside a factor.
  void clear_triangle(const LaneGroup& group) const {
    const std::int64_t n = work_.shape.n, pitch = slots_ * work_.element_bytes(), line = lane_line(n) * pitch;
    const bool ends = (work_.shape.uplo == Uplo::lower) == group.a_by_rows;  // of lines, behind the diagonal
    for (std::int64_t i = 0; i < n; ++i) {
      char* const at = static_cast<char*>(group.a) + i * line;
      std::memset(ends ? at + (i + 1) * pitch : at, 0, std::size_t((ends ? n - 1 - i : i) * pitch));
    }
  }

  // Calls f(the place of a value in the caller's array, its place among the slots).
  template <class F>
  void each_value(std::int64_t first, std::int64_t count, F&& f) const {
    const FactorValues& values = work_.values;
    for (std::int64_t s = 0; s < slots_; ++s)
      for (std::int64_t i = 0; i < values.count; ++i)
        f(s, (first + std::min(s, count - 1)) * values.problem_bytes() + i * values.bytes,
          (i * slots_ + s) * work_.element_bytes());
  }
  void take_values(std::int64_t first, std::int64_t count, char* to) const {
    each_value(first, count, [&](std::int64_t, std::int64_t from, std::int64_t slot) {
      std::memcpy(to + slot, work_.values.in + from, std::size_t(work_.values.bytes));
    });
  }
  void give_values(std::int64_t first, std::int64_t count, const char* from) const {
    each_value(first, count, [&](std::int64_t s, std::int64_t to, std::int64_t slot) {
      if (s < count) std::memcpy(work_.values.out + to, from + slot, std::size_t(work_.values.bytes));
    });
  }

  void take_pivots(std::int64_t first, std::int64_t count) {
    for (std::int64_t s = 0; s < slots_; ++s)
      for (std::int64_t i = 0, n = work_.steps(); i < n; ++i)
        pivots_[std::size_t(i * slots_ + s)] = work_.pivots_in[(first + std::min(s, count - 1)) * n + i];
  }
  void give_pivots(std::int64_t first, std::int64_t count) const {
    for (std::int64_t s = 0; s < count; ++s)
      for (std::int64_t i = 0, n = work_.steps(); i < n; ++i)
        work_.pivots_out[(first + s) * n + i] = pivots_[std::size_t(i * slots_ + s)];
  }

  const FactorWork& work_;
  FactorInfo& info_;
  LaneKernel kernel_;
  std::int64_t slots_, a_bytes_, b_bytes_, c_bytes_, values_bytes_;
  LaneMemory memory_;
  std::vector<int> pivots_;
};

std::string lanes_decline(const FactorRequest& r) {
  const LaneShape& s = r.work.shape;
  const std::int64_t most = most_lane_rows_of(s.routine);
  if (std::max(s.m, s.n) <= most) return "";
  return fmt::format("serves matrices of up to {} rows and columns", most);
}

// A vector takes as long for one problem as for all of its lanes. Every element is copied in and out, and
// matrices of more than 32 rows pass from a second-level cache.
double lanes_problem_s(const FactorWork& work) {
  const std::int64_t slots = lane_slots(work.shape.dtype), vectors = (work.count + slots - 1) / slots;
  const auto elements = double(work.a.rows * work.a.cols + (work.has_b ? work.b.rows * work.b.cols : 0) +
                               (work.has_c ? work.c.rows * work.c.cols : 0));
  // Reflectors and rotations pass their columns twice, for sums and for products.
  const bool is_slow = work.shape.routine >= Routine::geqrf || std::max(work.shape.m, work.shape.n) > 32;
  const double vector_s = factor_operations(work) * (is_slow ? 1e-9 : 0.6e-9) + elements * 0.6e-9 + 20e-9;
  return vector_s * double(vectors) / double(work.count);
}

class LaneRunner : public FactorRunner {
 public:
  void run(Context&, const FactorWork& work, int threads) const override {
    FactorInfo info(work.info);
    parallel_ranges(threads, work.count, slots_of_group(work),
                    [&](std::int64_t first, std::int64_t count) { LaneRun(work, info).run(first, count); });
  }
};

}  // namespace

constinit const FactorCandidate lanes_factor{"lanes", Tier::any, lanes_decline, [](const FactorRequest& r) {
                                               return factor_offer(lanes_problem_s(r.work),
                                                                   std::make_shared<const LaneRunner>());
                                             }};

}  // namespace tilewright
