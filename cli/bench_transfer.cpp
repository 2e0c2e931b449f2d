// `bench transfer`: what getting memory for a batch costs, one block per matrix against one block for all
// (Dongarra 2017, Fig. 3). On the CPU allocation, first touch and release are timed together; on a GPU the
// batch is moved there and back as well, which gpu_transfer measures.
#include <fmt/format.h>
#include <malloc.h>

#include <cstdlib>
#include <cstring>

#include "bench_families.hpp"
#include "bench_report.hpp"
#include "gpu_transfer.hpp"
#include "json_lines.hpp"
#include "measure/clock.hpp"
#include "progress.hpp"
#include "provenance.hpp"
#include "tilewright/allocate.hpp"

namespace tilewright::cli {
namespace {

using nlohmann::json;
constexpr std::int64_t default_batch = 10000;  // as in the paper

using Batch = TransferBatch;

// malloc per matrix, every line of it touched by the zeros written to it.
void one_block_per_matrix(const Batch& batch) {
  std::vector<void*> pointers;
  pointers.reserve(std::size_t(3 * batch.count));
  for (const std::int64_t bytes : batch.bytes)
    for (std::int64_t p = 0; p < batch.count; ++p) {
      pointers.push_back(std::malloc(std::size_t(bytes)));
      if (!pointers.back()) throw std::bad_alloc();
      std::memset(pointers.back(), 0, std::size_t(bytes));
    }
  for (void* pointer : pointers) std::free(pointer);
}

void one_block(const Batch& batch) {
  for (const std::int64_t bytes : batch.bytes) {
    void* block = std::malloc(std::size_t(bytes * batch.count));
    if (!block) throw std::bad_alloc();
    std::memset(block, 0, std::size_t(bytes * batch.count));
    asm volatile("" : : "r"(block) : "memory");  // the zeros are wanted even though nobody reads them
    std::free(block);
  }
}

void batch_allocator(const Batch& batch) {
  for (const std::int64_t bytes : batch.bytes) allocate_batch(bytes, batch.count, Placement::first_touch, 1);
}

std::string sizes_text(const BenchCase& c) {
  return fmt::format("{} {}x{}x{}", to_string(c.problem.dtype), c.problem.m, c.problem.n, c.problem.k);
}

struct Way {
  const char* name;
  void (*run)(const Batch&);
};
constexpr Way ways[] = {{"one_block_per_matrix", one_block_per_matrix},
                        {"one_block", one_block},
                        {"tilewright", batch_allocator}};

double seconds_of(const Way& way, const Batch& batch) {
  malloc_trim(0);  // pages kept from the last time would be a gift
  const double begin = thread_cpu_seconds();
  way.run(batch);
  return thread_cpu_seconds() - begin;
}

// All ways in turn within each repetition.
std::vector<Estimate> time_ways(const Batch& batch, int repetitions) {
  std::vector<std::vector<double>> samples(std::size(ways));
  for (int r = 0; r < repetitions; ++r)
    for (std::size_t i = 0; i < std::size(ways); ++i) samples[i].push_back(seconds_of(ways[i], batch));
  std::vector<Estimate> seconds;
  for (const auto& one : samples) seconds.push_back(estimate(one));
  return seconds;
}

json row(const BenchCase& c, const std::string& impl, const Estimate& seconds) {
  json object = case_keys(c);
  object["impl"] = impl;
  object.update(seconds_keys(seconds));
  add_provenance(object);
  return object;
}

void run_on_host(JsonLines& lines, const BenchPlan& plan, const BenchCase& c, const Batch& batch) {
  const std::vector<Estimate> seconds = time_ways(batch, plan.repetitions);
  fmt::print(lines.people(), "{:<20} {:>9} {:>26.3f} {:>15.3f} {:>17.3f} {:>7.2f}\n", sizes_text(c),
             batch.count, seconds[0].centre * 1e3, seconds[1].centre * 1e3, seconds[2].centre * 1e3,
             seconds[0].centre / seconds[2].centre);
  for (std::size_t i = 0; i < std::size(ways); ++i) lines.write(row(c, ways[i].name, seconds[i]));
}

// Seconds, bytes and GB/s by stage, and of all that moves.
json gpu_metrics(const GpuTransferWay& way) {
  json metrics = {{"clock", "wall"}}, stages = json::object();
  double bytes = 0;
  for (const TransferStage& stage : way.stages) {
    json one = seconds_keys(stage.seconds);
    if (stage.bytes > 0) one["bytes"] = stage.bytes, one["gbs"] = stage.bytes / stage.seconds.centre * 1e-9;
    bytes += stage.bytes;
    stages[stage.name] = one;
  }
  metrics["stages"] = stages;
  metrics["bytes"] = bytes, metrics["gbs"] = bytes / way.seconds.centre * 1e-9;
  return metrics;
}

void print_gpu(std::FILE* out, const BenchCase& c, const GpuTransferWay& way, double ratio) {
  fmt::print(out, "{:<20} {:>9} {:<9} {:<21}", sizes_text(c), c.problem.batch_count, way.memory, way.impl);
  for (const TransferStage& stage : way.stages) fmt::print(out, " {:>11.3f}", stage.seconds.centre * 1e3);
  fmt::print(out, " {:>9.3f} {:>7.2f}\n", way.seconds.centre * 1e3, ratio);
}

void run_on_gpu(JsonLines& lines, const BenchPlan& plan, const BenchCase& asked, const Batch& batch) {
  BenchCase c = asked;
  const GpuTransferResult result = measure_gpu_transfer(plan, batch);
  c.problem.batch_count = result.batch.count;
  if (result.batch.count < batch.count)
    fmt::print(lines.people(), "{}: {} of {} problems, so that the case lasts some seconds\n", sizes_text(c),
               result.batch.count, batch.count);
  const auto whole_s = [&](const GpuTransferWay& way) {
    for (const GpuTransferWay& other : result.ways)
      if (other.memory == way.memory && other.impl == "one_block") return other.seconds.centre;
    return way.seconds.centre;
  };
  for (const GpuTransferWay& way : result.ways) {
    const double ratio = way.seconds.centre / whole_s(way);
    print_gpu(lines.people(), c, way, ratio);
    json object = row(c, way.impl, way.seconds);
    object["memory"] = way.memory;
    object["metrics"] = gpu_metrics(way);
    object["metrics"]["ratio"] = ratio;
    object["metrics"]["asked_batch_count"] = batch.count;
    object.update(result.provenance);
    lines.write(object);
  }
}

std::string table_head_of(bool on_gpu) {
  if (!on_gpu)
    return fmt::format("{:<20} {:>9} {:>26} {:>15} {:>17} {:>7}", "problem", "batch",
                       "one block per matrix (ms)", "one block (ms)", "tilewright (ms)", "ratio");
  return fmt::format("{:<20} {:>9} {:<9} {:<21} {:>11} {:>11} {:>11} {:>11} {:>11} {:>11} {:>9} {:>7}",
                     "problem (ms)", "batch", "memory", "way", "allocate", "A in", "B in", "C in", "C out",
                     "release", "all", "ratio");
}

}  // namespace

void bench_transfer(const BenchFlags& flags, const BenchPlan& plan) {
  if (flags.on_gpu()) check_gpu_transfer(plan);
  JsonLines lines(flags.json);
  lines.head({{"command", command_line()}});
  fmt::print(lines.people(), "{}\n", table_head_of(flags.on_gpu()));
  Progress progress("bench", std::int64_t(plan.cases.size()));
  std::vector<std::string> seen;
  std::int64_t done = 0;
  for (BenchCase c : plan.cases) {
    progress.show(done++, problem_text(c));
    GemmProblem& p = c.problem;
    if (flags.batch.empty()) p.batch_count = default_batch;
    const std::string text = fmt::format("{} {}", sizes_text(c), p.batch_count);
    if (std::find(seen.begin(), seen.end(), text) != seen.end()) continue;
    seen.push_back(text);
    const std::int64_t size = size_bytes(p.dtype);
    const Batch batch{p.batch_count,
                      {p.lda * p.a_cols() * size, p.ldb * p.b_cols() * size, p.ldc * p.n * size}};
    progress.clear();
    (flags.on_gpu() ? run_on_gpu : run_on_host)(lines, plan, c, batch);
  }
}

}  // namespace tilewright::cli
