// `bench transfer`: what getting memory for a batch costs, one block per matrix against one block for all
// (Dongarra 2017, Fig. 3, on the CPU). Allocation, first touch and release are timed together. Host-GPU
// movement comes with the GPU.
#include <fmt/format.h>
#include <malloc.h>

#include <cstdlib>
#include <cstring>

#include "bench_families.hpp"
#include "json_lines.hpp"
#include "measure/clock.hpp"
#include "progress.hpp"
#include "provenance.hpp"
#include "tilewright/allocate.hpp"

namespace tilewright::cli {
namespace {

using nlohmann::json;
constexpr std::int64_t default_batch = 10000;  // as in the paper

struct Batch {
  std::int64_t count = 0;
  std::int64_t bytes[3] = {};  // of one A, one B, one C
};

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

void write(JsonLines& json_lines, const GemmProblem& p, const char* impl, const Estimate& seconds) {
  json object = {{"family", "transfer"},
                 {"problem", to_string(p)},
                 {"dtype", to_string(p.dtype)},
                 {"m", p.m},
                 {"n", p.n},
                 {"k", p.k},
                 {"location", "host"},
                 {"impl", impl},
                 {"batch_count", p.batch_count}};
  object["seconds"] = seconds.centre;
  object["seconds_low"] = seconds.low, object["seconds_high"] = seconds.high;
  object["samples"] = seconds.samples;
  add_provenance(object);
  json_lines.write(object);
}

}  // namespace

void bench_transfer(const BenchFlags& flags, const BenchPlan& plan) {
  JsonLines json_lines(flags.json);
  json_lines.write({{"command", command_line()}});
  std::FILE* out = json_lines.people();
  fmt::print(out, "{:<20} {:>9} {:>26} {:>15} {:>17} {:>7}\n", "problem", "batch",
             "one block per matrix (ms)", "one block (ms)", "tilewright (ms)", "ratio");
  Progress progress("bench", std::int64_t(plan.cases.size()));
  std::vector<std::string> seen;
  for (const BenchCase& bench_case : plan.cases) {
    GemmProblem p = bench_case.problem;
    p.batch_count = flags.batch.empty() ? default_batch : p.batch_count;
    const std::int64_t size = size_bytes(p.dtype);
    const std::string text = fmt::format("{} {}x{}x{}", to_string(p.dtype), p.m, p.n, p.k);
    if (std::find(seen.begin(), seen.end(), text) != seen.end()) continue;
    seen.push_back(text);
    const Batch batch{p.batch_count,
                      {p.lda * p.a_cols() * size, p.ldb * p.b_cols() * size, p.ldc * p.n * size}};
    const std::vector<Estimate> seconds = time_ways(batch, plan.repetitions);
    fmt::print(out, "{:<20} {:>9} {:>26.3f} {:>15.3f} {:>17.3f} {:>7.2f}\n", text, batch.count,
               seconds[0].centre * 1e3, seconds[1].centre * 1e3, seconds[2].centre * 1e3,
               seconds[0].centre / seconds[2].centre);
    for (std::size_t i = 0; i < std::size(ways); ++i) write(json_lines, p, ways[i].name, seconds[i]);
  }
}

}  // namespace tilewright::cli
