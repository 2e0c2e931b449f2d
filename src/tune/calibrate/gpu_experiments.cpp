// Streams, events and buffers of each GPU, and trains of copies as load.
#include "tune/calibrate/gpu_experiments.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <set>
#include <thread>

#include "core/access.hpp"
#include "core/dispatch.hpp"
#include "device/gpu/blas.hpp"
#include "device/gpu/copies.hpp"
#include "lu/device/engine.hpp"
#include "measure/buffers.hpp"
#include "measure/clock.hpp"
#include "measure/gpu/energy.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t train_bytes = 64 << 20;        // of each copy that keeps a GPU busy
constexpr std::int64_t long_train_bytes = 128 << 20;  // the same beside products of about 2 ms in a row
constexpr double idle_s = 0.02;                       // before a start
constexpr std::chrono::milliseconds rest(300);        // before products in a row
constexpr int most_queued = 500;    // copies; a stream that holds more makes the next call wait
constexpr int beside_copies = 120;  // timed together beside products of about 10 ms
constexpr TimedWork ways[] = {TimedWork::to_device, TimedWork::to_host};

CalibratedGpu described(const Gpu& gpu) {
  const GpuLimits& limits = gpu.limits();
  CalibratedGpu known;
  known.device = gpu.device(), known.name = limits.name, known.driver = limits.driver_version;
  known.architecture = architecture_of(limits);
  known.memory_bytes = limits.memory_bytes, known.memory_bytes_per_s = limits.memory_bytes_per_s;
  if (GpuBlas::is_there()) {
    const Gpu::Current current(gpu);
    known.blas_version = GpuBlas().version();
  }
  return known;
}

}  // namespace

struct GpuExperiments::Node {
  explicit Node(int device) : gpu(device), in(gpu), out(gpu), work(gpu) {}

  // The buffers of one direction.
  struct Way {
    std::optional<PinnedBuffer> pinned;
    AlignedBuffer pageable;
    std::optional<GpuBuffer> device;
  };
  void make_room(Way& way, std::int64_t bytes, bool is_pinned) {
    const auto size = std::size_t(bytes);
    if (!way.device || way.device->bytes() < size) way.device.reset(), way.device.emplace(gpu, size);
    if (is_pinned && (!way.pinned || way.pinned->bytes() < size)) {
      way.pinned.reset(), way.pinned.emplace(gpu, size);
      std::memset(way.pinned->data(), 1, size);
    }
    if (!is_pinned && way.pageable.bytes() < bytes) {
      way.pageable = AlignedBuffer(bytes);
      std::memset(way.pageable.data(), 1, size);
    }
  }

  Way& way_of(TimedWork direction) { return direction == TimedWork::to_host ? way_out : way_in; }
  const GpuStream& stream_of(TimedWork direction) const { return direction == TimedWork::to_host ? out : in; }

  void queue(TimedWork direction, std::int64_t bytes, bool is_pinned = true) {
    Way& way = way_of(direction);
    void* host = is_pinned ? way.pinned->data() : static_cast<void*>(way.pageable.data());
    if (direction == TimedWork::to_host)
      queue_to_host(gpu, host, way.device->as<void>(), std::size_t(bytes), out.get());
    else
      queue_to_device(gpu, way.device->as<void>(), host, std::size_t(bytes), in.get());
  }
  // Each call takes the next pieces, as slices of a matrix: neither caches nor page tables know them.
  void queue_pieces(TimedWork direction, std::int64_t bytes, std::int64_t pieces) {
    Way& way = way_of(direction);
    const auto piece = std::size_t(bytes / pieces);
    const std::size_t offset = next_piece++ % (std::size_t(pitch_bytes) / piece) * piece;
    char* const host = static_cast<char*>(way.pinned->data()) + offset;
    char* const device = way.device->as<char>(offset);
    const CopiedBlock block{piece, std::size_t(pieces), std::size_t(pitch_bytes), std::size_t(pitch_bytes)};
    if (direction == TimedWork::to_host)
      queue_to_host(gpu, host, device, block, out.get());
    else
      queue_to_device(gpu, device, host, block, in.get());
  }
  void queue_train(TimedWork direction, std::int64_t bytes, int count) {
    for (int i = 0; i < count; ++i) queue(direction, bytes);
  }
  void wait() const { in.synchronize(), out.synchronize(); }

  // Runs products under copies both ways, as a pipeline does, on a GPU that was idle before.
  template <class F>
  double seconds_in_a_row(std::int64_t count, F&& multiply) {
    for (const TimedWork way : ways) make_room(way_of(way), long_train_bytes, true);
    std::this_thread::sleep_for(rest);
    for (const TimedWork way : ways)
      queue_train(way, long_train_bytes, int(std::min<std::int64_t>(count, most_queued)));
    const double seconds = GpuTimer(gpu, work.get()).seconds([&] {
      for (std::int64_t i = 0; i < count; ++i) multiply();
    });
    wait();
    return seconds;
  }

  // Fills at least so many bytes with random elements of the type.
  void fill_operands(std::int64_t bytes, DType dtype) {
    if (operands && std::int64_t(operands->bytes()) >= bytes && filled == dtype) return;
    if (!operands || std::int64_t(operands->bytes()) < bytes) {
      operands.reset();
      operands.emplace(gpu, std::size_t(bytes));
    }
    constexpr std::int64_t pattern_bytes = 16 << 20;
    const std::int64_t some = std::min<std::int64_t>(pattern_bytes, std::int64_t(operands->bytes()));
    AlignedBuffer pattern(some);
    fill(pattern.data(), some / size_bytes(dtype), dtype, Data::uniform, 1);
    operands->write(pattern.data(), std::size_t(some));
    operands->repeat(std::size_t(some));
    filled = dtype;
  }

  Gpu gpu;
  GpuStream in, out, work;
  Way way_in, way_out;
  std::optional<GpuBuffer> operands;
  DType filled = DType::f64;
  std::set<std::string> seen;  // products that already ran
  std::size_t next_piece = 0;
};

namespace {

TimedWork other_way(TimedWork direction) {
  return direction == TimedWork::to_host ? TimedWork::to_device : TimedWork::to_host;
}

GemmProblem problem_of(const Experiment& e) {
  GemmProblem p;
  p.dtype = e.dtype, p.m = e.m, p.n = e.n, p.k = e.k;
  p.beta = Scalar::one, p.location = Location::device;
  return packed(p);
}

}  // namespace

GpuExperiments::GpuExperiments(const std::vector<int>& devices) {
  for (const int device : devices) {
    if (const auto reason = why_too_old(Gpu::limits_of(device)); !reason.empty())
      throw Error(ErrorCode::unsupported, "gpus", fmt::format("gpus: {} cannot be used: {}", device, reason));
    nodes_.push_back(std::make_unique<Node>(device));
    gpus_.push_back(described(nodes_.back()->gpu));
  }
}
GpuExperiments::~GpuExperiments() = default;

bool GpuExperiments::reaches(int gpu, int peer) const {
  return gpu != peer && reach_peer(nodes_[std::size_t(gpu)]->gpu, nodes_[std::size_t(peer)]->gpu);
}

// The load begins first and ends last: the timed copy is one of several of equal length in a row.
double GpuExperiments::transfer(const Experiment& e) {
  Node& node = *nodes_[std::size_t(e.gpu)];
  const Gpu::Current current(node.gpu);
  if (e.pieces > 0) {
    node.make_room(node.way_of(e.work), e.pieces * pitch_bytes, true);
    return GpuTimer(node.gpu, node.stream_of(e.work).get()).seconds([&] {
      node.queue_pieces(e.work, e.bytes, e.pieces);
    });
  }
  const bool all = e.beside == Beside::all_gpus || e.beside == Beside::transfers;
  const bool both = e.beside == Beside::other_direction || e.beside == Beside::transfers;
  const TimedWork back = other_way(e.work);
  for (const auto& one : nodes_)
    if (all || one.get() == &node)
      for (const TimedWork way : {e.work, back})
        if (way == e.work || both) one->make_room(one->way_of(way), e.bytes, e.pinned);
  constexpr int before = 1, after = 3;
  for (const auto& one : nodes_)
    if (all && one.get() != &node) {
      one->queue_train(e.work, e.bytes, before + after);
      if (both) one->queue_train(back, e.bytes, before + after);
    }
  GpuEvent begun(node.gpu);
  if (both) {
    node.queue_train(back, e.bytes, before);
    begun.record(node.stream_of(back).get());
    node.queue_train(back, e.bytes, after);
    begun.hold_back(node.stream_of(e.work).get());
  } else if (all) {
    node.queue_train(e.work, e.bytes, before);
  }
  const double seconds = GpuTimer(node.gpu, node.stream_of(e.work).get()).seconds([&] {
    node.queue(e.work, e.bytes, e.pinned);
  });
  for (const auto& one : nodes_) one->wait();
  return seconds;
}

double GpuExperiments::transfer_beside(const Experiment& e, const std::function<void()>& work) {
  Node& node = *nodes_[std::size_t(e.gpu)];
  const Gpu::Current current(node.gpu);
  const TimedWork back = other_way(e.work);
  node.make_room(node.way_of(e.work), e.bytes, true), node.make_room(node.way_of(back), e.bytes, true);
  work();  // its threads are awake
  GpuEvent first(node.gpu), last(node.gpu);
  first.record(node.stream_of(e.work).get());
  node.queue_train(e.work, e.bytes, beside_copies);
  last.record(node.stream_of(e.work).get());
  node.queue_train(back, e.bytes, beside_copies + beside_copies / 2);
  while (!last.has_passed()) work();
  node.wait();
  return last.seconds_since(first) / beside_copies;
}

double GpuExperiments::device_copy(const Experiment& e) {
  Node& node = *nodes_[std::size_t(e.gpu)];
  const Gpu::Current current(node.gpu);
  // A copy within one memory is a copy from the same device, which the driver recognises.
  Node& from = e.work == TimedWork::from_peer ? *nodes_[std::size_t(e.peer)] : node;
  node.make_room(node.way_in, e.bytes, true), from.make_room(from.way_out, e.bytes, true);
  return GpuTimer(node.gpu, node.work.get()).seconds([&] {
    queue_from_peer(node.gpu, node.way_in.device->as<void>(), from.gpu, from.way_out.device->as<void>(),
                    std::size_t(e.bytes), node.work.get());
  });
}

double GpuExperiments::start(std::int64_t bytes) {
  for (const auto& node : nodes_) node->make_room(node->way_in, bytes, true);
  // An occasional product, too, finds GPU and bus idle.
  for (const double idle = wall_seconds(); wall_seconds() < idle + idle_s;) {
  }
  const double begin = wall_seconds();
  std::vector<std::thread> threads;
  for (const auto& node : nodes_)
    threads.emplace_back([&node, bytes] {
      node->queue(TimedWork::to_device, bytes);
      node->in.synchronize();
    });
  for (std::thread& one : threads) one.join();
  return wall_seconds() - begin;
}

// Compiles what LU of an experiment's type needs, so that a program's first one does not wait for it.
void GpuExperiments::prepare_factorizations(Context& context, const Experiment& e) {
  const int device = nodes_[std::size_t(e.gpu)]->gpu.device();
  if (!factors_.insert({device, e.dtype}).second) return;
  constexpr std::int64_t sizes[] = {1000, 4000, 10000, 20000};  // one for each width of blocks
  try {
    const std::shared_ptr<LuTools> tools = LuMachines::of(Access::impl(context)).tools(device);
    for (const std::int64_t n : sizes)
      LuEngine(tools, {.dtype = e.dtype, .m = n, .n = n, .lda = device_ld(n, e.dtype)}, {});
    tools->system(e.dtype);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported)
      throw;  // no cuBLAS, or too little memory: nothing factors there
  }
}

void GpuExperiments::prepare(Context& context, const std::vector<Experiment>& products) {
  for (const Experiment& e : products)
    if (e.work == TimedWork::device_gemm) prepare_factorizations(context, e);
  for (std::size_t gpu = 0; gpu < nodes_.size(); ++gpu) {
    std::vector<GemmProblem> problems;
    for (const Experiment& e : products)
      if (e.work == TimedWork::device_gemm && e.gpu == int(gpu)) problems.push_back(problem_of(e));
    GemmOptions options;
    options.queue.device = nodes_[gpu]->gpu.device(), options.align_bytes = 128;
    if (!problems.empty()) tilewright::prepare(context, problems, options);
  }
}

double GpuExperiments::product(Context& context, const Experiment& e) {
  Node& node = *nodes_[std::size_t(e.gpu)];
  const Gpu::Current current(node.gpu);
  // Operands are aligned to 256 bytes, as separate allocations are.
  const auto place = [&](std::int64_t rows, std::int64_t cols) {
    return (rows * cols * size_bytes(e.dtype) + 255) / 256 * 256;
  };
  const std::int64_t b_at = place(e.m, e.k), c_at = b_at + place(e.k, e.n);
  node.fill_operands(c_at + place(e.m, e.n), e.dtype);
  GemmOptions options;
  options.queue.device = node.gpu.device(), options.queue.stream = node.work.get();
  return dispatch(e.dtype, [&]<class T>() {
    const auto multiply = [&] {
      constexpr Location L = Location::device;
      gemm<T, L>(context, Op::none, Op::none, T(1), {node.operands->as<T>(), e.m, e.k, e.m},
                 {node.operands->as<T>(std::size_t(b_at)), e.k, e.n, e.k}, T(1),
                 {node.operands->as<T>(std::size_t(c_at)), e.m, e.n, e.m}, options);
    };
    if (node.seen.insert(to_string(e)).second) multiply();  // plans, loads and compiles
    if (e.in_a_row > 0) return node.seconds_in_a_row(e.in_a_row, multiply);
    return GpuTimer(node.gpu, node.work.get()).seconds(multiply);
  });
}

double GpuExperiments::pin(void* data, std::int64_t bytes) {
  const double begin = wall_seconds();
  { const RegisteredMemory registered(nodes_.front()->gpu, data, std::size_t(bytes)); }
  return wall_seconds() - begin;
}

void* GpuExperiments::pinned(std::int64_t bytes) {
  Node& node = *nodes_.front();
  node.make_room(node.way_in, bytes, true);
  return node.way_in.pinned->data();
}

double GpuExperiments::beside_transfers(const std::function<double()>& work) {
  for (const auto& node : nodes_)
    for (const TimedWork way : ways) node->make_room(node->way_of(way), train_bytes, true);
  // Runs the work beside so many copies each way; 0 if they end before it.
  const auto attempt = [&](int count, double& copy_s) {
    const double begin = wall_seconds();
    std::vector<GpuEvent> first, last;
    for (const auto& node : nodes_)
      for (const TimedWork way : ways) {
        first.emplace_back(node->gpu).record(node->stream_of(way).get());
        node->queue_train(way, train_bytes, count);
        last.emplace_back(node->gpu).record(node->stream_of(way).get());
      }
    const double seconds = work(), busy = wall_seconds() - begin;
    double copied = 0;
    for (std::size_t i = 0; i < first.size(); ++i) {
      last[i].synchronize();
      const double train_s = last[i].seconds_since(first[i]);
      copied = i == 0 ? train_s : std::min(copied, train_s);
    }
    copy_s = copied / count;
    return copied >= busy ? seconds : 0;
  };
  double copy_s = 0;
  const double begin = wall_seconds();
  work();
  const double alone_s = wall_seconds() - begin;
  int count = 4;
  for (int attempts = 0; attempts < 3; ++attempts) {
    if (const double seconds = attempt(count, copy_s); seconds > 0) return seconds;
    const double wanted = std::max(2.0 * count, 2 * alone_s / std::max(copy_s, 1e-9));
    if (wanted > most_queued && count == most_queued) break;
    count = int(std::min<double>(wanted, most_queued));
  }
  throw Error(ErrorCode::unsupported, "beside", "copies that are queued end before the host's work does");
}

}  // namespace tilewright
