// Names and sets of experiments: validation at the sizes of the paper's tables, installation around them.
#include <algorithm>

#include "core/quantity.hpp"
#include "tune/calibrate/machine.hpp"
#include "wisdom/node_model.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t kibi = 1 << 10, mebi = 1 << 20;
constexpr std::int64_t long_n = 4096;  // its products in a row take 0.04 to 0.7 s at 60 TFLOP/s
constexpr int memory_part = 4;         // operands take at most this fraction of a memory

std::string size_text(std::int64_t bytes) {
  if (bytes % mebi == 0) return fmt::format("{} MiB", bytes / mebi);
  if (bytes % kibi == 0) return fmt::format("{} KiB", bytes / kibi);
  return fmt::format("{} B", bytes);
}

using Sizes = std::vector<std::int64_t>;
using Experiments = std::vector<Experiment>;

struct Shape {
  std::int64_t m, n, k;
};
using Shapes = std::vector<Shape>;

// Square products, C = A B with square A (equations 1, 2) and panel updates of rank k (equations 7, 8), of
// whole matrices and of one side of a split.
Shapes shapes_of(const Sizes& squares, const Sizes& split, const Sizes& panels, const Sizes& ranks) {
  Shapes shapes;
  for (const auto n : squares) shapes.push_back({n, n, n});
  for (const auto m : split)
    for (const auto part : {8, 2}) shapes.push_back({m, m / part, m});
  for (const auto m : panels)
    for (const auto k : ranks)
      if (k <= m / 4) shapes.push_back({m, m, k});
  for (const auto m : panels)
    if (m >= 1024) shapes.push_back({m, m / 8, 64}), shapes.push_back({m, m / 8, 256});
  return shapes;
}

Shapes installed_shapes(const CalibrationScope& scope, bool on_device) {
  if (scope.quick)
    return shapes_of({64, 128, 256, 512, 1024, 2048}, {512, 1024, 2048}, {512, 1024, 2048}, {32, 128, 256});
  Shapes shapes =
      shapes_of({64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192},
                {512, 1024, 2048, 4096, 8192}, {512, 1024, 2048, 4096, 8192}, {16, 64, 128, 256, 512});
  if (on_device)  // tiles and slices of streamed products
    for (const Shape tile : Shapes{{4096, 512, 512},
                                   {8192, 512, 1024},
                                   {8192, 512, 8192},
                                   {16384, 1024, 1024},
                                   {16384, 1024, 16384}})
      shapes.push_back(tile);
  return shapes;
}

Shapes unseen_shapes(const CalibrationScope& scope) {
  if (scope.quick)
    return {{192, 192, 192}, {768, 768, 768},  {1536, 1536, 1536}, {768, 192, 768},
            {768, 768, 48},  {1536, 1536, 96}, {1536, 1536, 192},  {1111, 777, 555}};
  return {{160, 160, 160},    {320, 320, 320},    {640, 640, 640},   {1280, 1280, 1280}, {2304, 2304, 2304},
          {3840, 3840, 3840}, {5376, 5376, 5376}, {1792, 448, 1792}, {3584, 896, 3584},  {7168, 1792, 7168},
          {768, 768, 48},     {1536, 1536, 96},   {3072, 3072, 192}, {6144, 6144, 96},   {6144, 6144, 384},
          {6144, 768, 192},   {1111, 777, 555},   {5000, 3000, 700}};
}

double operand_bytes(const Experiment& e) {
  return double(size_bytes(e.dtype)) *
         (double(e.m) * double(e.n) + double(e.m) * double(e.k) + double(e.k) * double(e.n));
}

Experiments products(TimedWork work, int gpu, DType dtype, const Shapes& shapes, double most_bytes) {
  Experiments all;
  for (const Shape& s : shapes) {
    Experiment e;
    e.work = work, e.gpu = gpu, e.dtype = dtype, e.m = s.m, e.n = s.n, e.k = s.k;
    if (operand_bytes(e) <= most_bytes) all.push_back(e);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Experiment& x, const Experiment& y) { return x.products() < y.products(); });
  return all;
}

Experiments copies(TimedWork work, int gpu, const Sizes& sizes, bool pinned = true,
                   Beside beside = Beside::nothing) {
  Experiments all;
  for (const auto bytes : sizes) {
    Experiment e;
    e.work = work, e.gpu = gpu, e.bytes = bytes, e.pinned = pinned, e.beside = beside;
    all.push_back(e);
  }
  return all;
}

Experiments on_host(TimedWork work, int threads, const Sizes& sizes) {
  Experiments all = copies(work, -1, sizes);
  for (Experiment& e : all) e.threads = threads;
  return all;
}

void add(Experiments& to, const Experiments& more) { to.insert(to.end(), more.begin(), more.end()); }

Sizes thread_counts(int most) {
  Sizes counts;
  for (std::int64_t t = 1; t < most; t *= 2) counts.push_back(t);
  counts.push_back(most);
  return counts;
}

// Larger than last-level caches.
Sizes stream_sizes(const CalibrationScope& scope) {
  return scope.quick ? Sizes{96 * mebi, 144 * mebi, 192 * mebi}
                     : Sizes{96 * mebi, 192 * mebi, 288 * mebi, 384 * mebi};
}

CalibrationTask host_copy_task(const CalibrationMachine& machine, const CalibrationScope& scope) {
  CalibrationTask task{host_copy_model, -1, DType::f64, {}, {}};
  const int threads = machine.host().threads;
  Sizes sizes{256 * kibi, 1 * mebi, 2 * mebi, 4 * mebi, 8 * mebi, 16 * mebi};
  if (!scope.quick) sizes.insert(sizes.end(), {32 * mebi, 64 * mebi});
  for (const auto count : thread_counts(threads)) {
    add(task.installation, on_host(TimedWork::host_copy, int(count), sizes));
    add(task.validation, on_host(TimedWork::host_copy, int(count), {3 * mebi, 12 * mebi}));
  }
  for (const int count : {1, 2, 4, 8, 16, 32})
    if (count <= 2 * threads) add(task.installation, on_host(TimedWork::start_threads, count, {0}));
  add(task.installation, on_host(TimedWork::stream, threads, stream_sizes(scope)));
  if (machine.gpus().empty()) return task;
  for (Experiment e : on_host(TimedWork::stream, threads, {stream_sizes(scope).back()})) {
    e.beside = Beside::transfers;
    task.installation.push_back(e);
  }
  add(task.installation, copies(TimedWork::pin, -1,
                                scope.quick ? Sizes{4 * mebi, 16 * mebi, 64 * mebi}
                                            : Sizes{4 * mebi, 16 * mebi, 64 * mebi, 256 * mebi}));
  return task;
}

// Calls `use` with each GPU and the first GPU of the same name.
template <class F>
void for_each_gpu(const CalibrationMachine& machine, F&& use) {
  const auto& gpus = machine.gpus();
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    std::size_t first = 0;
    while (gpus[first].name != gpus[i].name) ++first;
    use(int(i), int(first));
  }
}

void add_transfers(CalibrationTask& task, const CalibrationMachine& machine, const CalibrationScope& scope,
                   int gpu) {
  Sizes sizes{4 * kibi, 16 * kibi, 64 * kibi, 256 * kibi, 1 * mebi, 4 * mebi, 16 * mebi, 32 * mebi};
  Sizes staged{256 * kibi, 1 * mebi, 4 * mebi, 16 * mebi}, busy{16 * mebi, 32 * mebi};
  if (!scope.quick)
    sizes.insert(sizes.end(), {64 * mebi, 128 * mebi}), staged.push_back(64 * mebi),
        busy.push_back(128 * mebi);
  for (const TimedWork direction : {TimedWork::to_device, TimedWork::to_host}) {
    add(task.installation, copies(direction, gpu, sizes));
    add(task.installation, copies(direction, gpu, staged, false));
    add(task.installation, copies(direction, gpu, busy, true, Beside::other_direction));
    add(task.validation, copies(direction, gpu, {48 * kibi, 768 * kibi, 6 * mebi, 24 * mebi}));
    add(task.validation, copies(direction, gpu, {768 * kibi, 12 * mebi}, false));
    add(task.validation, copies(direction, gpu, {24 * mebi}, true, Beside::other_direction));
  }
  add(task.installation, copies(TimedWork::device_copy, gpu, {32 * mebi, 64 * mebi, 128 * mebi}));
  for (const TimedWork direction : {TimedWork::to_device, TimedWork::to_host})
    for (Experiment e :
         copies(direction, gpu,
                scope.quick ? Sizes{16 * mebi, 32 * mebi} : Sizes{16 * mebi, 32 * mebi, 64 * mebi})) {
      e.pieces = scope.quick ? 512 : 4096;
      task.installation.push_back(e);
    }
  const int count = int(machine.gpus().size());
  const Sizes shared = scope.quick ? Sizes{16 * mebi, 32 * mebi} : Sizes{32 * mebi, 128 * mebi};
  if (count > 1)
    for (const TimedWork direction : {TimedWork::to_device, TimedWork::to_host})
      for (const Beside others : {Beside::all_gpus, Beside::transfers})
        add(task.installation, copies(direction, gpu, shared, true, others));
  for (int step = 1; step < count; ++step) {
    const int peer = (gpu + step) % count;
    if (!machine.reaches(gpu, peer)) continue;
    for (Experiments* set : {&task.installation, &task.validation}) {
      auto all = copies(
          TimedWork::from_peer, gpu,
          set == &task.installation ? Sizes{64 * kibi, 1 * mebi, 16 * mebi, 64 * mebi} : Sizes{6 * mebi});
      for (Experiment& e : all) e.peer = peer;
      add(*set, all);
    }
    break;
  }
}

// CPU products alone and beside the transfers of all GPUs, transfers beside products, and start-up times.
CalibrationTask pipeline_task(const CalibrationMachine& machine, const CalibrationScope& scope) {
  CalibrationTask task{pipeline_model, -1, scope.dtypes.front(), {}, {}};
  add(task.installation, copies(TimedWork::start_gpus, -1, {4 * kibi, 16 * kibi, 64 * kibi, 256 * kibi}));
  // Larger than last-level caches, as products that are shared with GPUs.
  const std::int64_t side = scope.quick ? 4096 : 8192;
  for (const TimedWork direction : {TimedWork::to_device, TimedWork::to_host})
    for (const std::int64_t k : {64, 128})
      for (Experiment e : copies(direction, 0, {32 * mebi}, true, Beside::host_product)) {
        e.dtype = scope.dtypes.front(), e.m = e.n = side, e.k = k;
        task.installation.push_back(e);
      }

  const auto most_bytes = double(machine.host().memory_bytes) / memory_part;
  const Shapes shapes = scope.quick ? Shapes{{1024, 1024, 64}, {1024, 1024, 128}, {1024, 1024, 1024}}
                                    : Shapes{{2048, 2048, 64}, {2048, 2048, 256}, {2048, 2048, 2048},
                                             {4096, 512, 128}, {4096, 4096, 64},  {8192, 8192, 64}};
  const Shapes unseen = scope.quick ? Shapes{{768, 768, 96}} : Shapes{{3072, 3072, 96}, {1536, 1536, 1536}};
  for (auto [set, sizes] : {std::pair(&task.installation, &shapes), std::pair(&task.validation, &unseen)})
    for (Experiment e : products(TimedWork::host_gemm, -1, task.dtype, *sizes, most_bytes)) {
      set->push_back(e);
      e.beside = Beside::transfers;
      set->push_back(e);
    }
  return task;
}

CalibrationTask gemm_task(const CalibrationMachine& machine, const CalibrationScope& scope, int gpu,
                          DType dtype) {
  const bool on_device = gpu >= 0;
  const TimedWork work = on_device ? TimedWork::device_gemm : TimedWork::host_gemm;
  const auto memory = on_device ? machine.gpus()[std::size_t(gpu)].memory_bytes : machine.host().memory_bytes;
  const double most_bytes = double(memory) / memory_part;
  CalibrationTask task{on_device ? gemm_device_model : gemm_host_model, gpu, dtype,
                       products(work, gpu, dtype, installed_shapes(scope, on_device), most_bytes),
                       products(work, gpu, dtype, unseen_shapes(scope), most_bytes)};
  if (on_device)
    for (Experiment e : products(work, gpu, dtype, {{long_n, long_n, long_n}}, most_bytes))
      for (const std::int64_t count : {16, 160, 640}) {
        e.in_a_row = is_complex(dtype) ? count / 4 : count;
        task.installation.push_back(e);
      }
  return task;
}

}  // namespace

std::string to_string(const Experiment& e) {
  std::string text = to_string(e.work);
  if (e.gpu >= 0) text += fmt::format(" gpu {}", e.gpu);
  if (e.peer >= 0) text += fmt::format(" from gpu {}", e.peer);
  if (e.work == TimedWork::to_device || e.work == TimedWork::to_host)
    text += e.pinned ? " pinned" : " pageable";
  if (e.threads > 0) text += " " + counted(e.threads, "thread");
  if (e.bytes > 0) text += " " + size_text(e.bytes);
  if (e.pieces > 0) text += fmt::format(" in {} far pieces", e.pieces);
  if (e.is_gemm()) text += fmt::format(" {} {}x{}x{}", to_string(e.dtype), e.m, e.n, e.k);
  if (e.in_a_row > 0) text += fmt::format(", {} in a row", e.in_a_row);
  if (e.beside != Beside::nothing) text += " beside " + to_string(e.beside);
  if (e.beside == Beside::host_product) text += fmt::format(" {}x{}x{}", e.m, e.n, e.k);
  return text;
}

double weight_of(const Experiment& e) {
  if (e.beside == Beside::transfers || e.beside == Beside::host_product) return 3;
  if (e.work == TimedWork::host_gemm) return std::clamp(e.products() / 2e9, 0.5, 12.0);
  if (e.in_a_row > 0) return double(e.in_a_row) / 12;  // with the pause before
  return e.work == TimedWork::device_gemm ? 0.5 : 0.3;
}

std::vector<CalibrationTask> calibration_tasks(const CalibrationMachine& machine,
                                               const CalibrationScope& scope) {
  std::vector<CalibrationTask> tasks;
  for_each_gpu(machine, [&](int gpu, int first) {
    CalibrationTask* task = nullptr;
    for (CalibrationTask& known : tasks)
      if (known.gpu == first) task = &known;
    if (task == nullptr)
      task = &tasks.emplace_back(CalibrationTask{transfer_model, first, DType::f64, {}, {}});
    add_transfers(*task, machine, scope, gpu);
  });
  tasks.push_back(host_copy_task(machine, scope));
  for (const DType dtype : scope.dtypes) {
    tasks.push_back(gemm_task(machine, scope, -1, dtype));
    for_each_gpu(machine, [&](int gpu, int first) {
      if (gpu == first) tasks.push_back(gemm_task(machine, scope, gpu, dtype));
    });
  }
  if (!machine.gpus().empty()) tasks.push_back(pipeline_task(machine, scope));
  return tasks;
}

}  // namespace tilewright
