// The family transfer. On the CPU allocation, first touch and release are timed together here; on a GPU
// gpu/transfer.cpp measures the stages.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "bench/family.hpp"
#include "bench/gpu_parts.hpp"
#include "bench/machine.hpp"
#include "bench/provenance.hpp"
#include "bench/report.hpp"
#include "core/quantity.hpp"
#include "measure/clock.hpp"
#include "people/table.hpp"
#include "tilewright/allocate.hpp"

namespace tilewright::bench {
namespace {

using nlohmann::json;
constexpr std::int64_t default_batch = 10000;  // as in the paper

// Allocates each matrix by malloc and touches every line by writing zeros.
void one_block_per_matrix(const TransferBatch& batch) {
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

void one_block(const TransferBatch& batch) {
  for (const std::int64_t bytes : batch.bytes) {
    void* block = std::malloc(std::size_t(bytes * batch.count));
    if (!block) throw std::bad_alloc();
    std::memset(block, 0, std::size_t(bytes * batch.count));
    asm volatile("" : : "r"(block) : "memory");  // the zeros must be written although no code reads them
    std::free(block);
  }
}

void batch_allocator(const TransferBatch& batch) {
  for (const std::int64_t bytes : batch.bytes) allocate_batch(bytes, batch.count, Placement::first_touch, 1);
}

struct HostMethod {
  const char* name;
  void (*run)(const TransferBatch&);
};
constexpr HostMethod host_methods[] = {{"one_block_per_matrix", one_block_per_matrix},
                                       {"one_block", one_block},
                                       {"tilewright", batch_allocator}};

// Measures all methods in alternation within each repetition.
TransferResult measure_host_transfer(const Plan& plan, const TransferBatch& batch) {
  std::vector<double> samples[std::size(host_methods)];
  for (int r = 0; r < plan.repetitions; ++r)
    for (std::size_t i = 0; i < std::size(host_methods); ++i) {
      malloc_trim(0);  // otherwise the pages of the last repetition would be reused
      const double begin = thread_cpu_seconds();
      host_methods[i].run(batch);
      samples[i].push_back(thread_cpu_seconds() - begin);
    }
  TransferResult result{.batch = batch, .ways = {}};
  for (std::size_t i = 0; i < std::size(host_methods); ++i)
    result.ways.push_back({host_methods[i].name, "pageable", estimate(samples[i])});
  return result;
}

std::string sizes_text(const Case& c) {
  return fmt::format("{} {}x{}x{}", to_string(c.problem.dtype), c.problem.m, c.problem.n, c.problem.k);
}

// Returns seconds, bytes and GB/s by stage, and for all that moves data.
json metrics_of(const TransferMethod& method) {
  json metrics = {{"clock", "wall"}}, stages = json::object();
  double bytes = 0;
  for (const TransferStage& stage : method.stages) {
    json one = seconds_keys(stage.seconds);
    if (stage.bytes > 0) one["bytes"] = stage.bytes, one["gbs"] = stage.bytes / stage.seconds.centre * 1e-9;
    bytes += stage.bytes;
    stages[stage.name] = one;
  }
  metrics["stages"] = stages;
  metrics["bytes"] = bytes, metrics["gbs"] = bytes / method.seconds.centre * 1e-9;
  return metrics;
}

const people::Table& host_transfer_table() {
  static const people::Table table(
      "problem 20< | batch 9 | block per matrix 16 | one block 10 | tilewright 10 | "
      "ratio 7");
  return table;
}

const people::Table& gpu_transfer_table() {
  static const people::Table table(
      "problem, memory and way 31< | batch 8 | alloc. 6 | A in 6 | B in 6 | C in 6 | "
      "C out 6 | release 7 | all 7 | ratio 6");
  return table;
}

class Transfer : public Family {
 public:
  explicit Transfer(const Plan& plan) : plan_(plan) {
    if (plan.on_device()) check_gpu_transfer(plan);
  }

  std::vector<std::string> head() override {
    if (!plan_.on_device()) return {host_transfer_table().head()};
    return {"times of the whole batch, in milliseconds", gpu_transfer_table().head()};
  }

  CaseOutput measure(const Case& asked) override {
    Case c = asked;
    GemmProblem& p = c.problem;
    if (plan_.is_default_batch) p.batch_count = default_batch;
    const std::string text = fmt::format("{} {}", sizes_text(c), p.batch_count);
    if (std::find(seen_.begin(), seen_.end(), text) != seen_.end()) return {};
    seen_.push_back(text);
    const std::int64_t size = size_bytes(p.dtype);
    const TransferBatch batch{p.batch_count,
                              {p.lda * p.a_cols() * size, p.ldb * p.b_cols() * size, p.ldc * p.n * size}};
    return plan_.on_device() ? on_gpu(c, batch) : on_host(c, batch);
  }

  CaseOutput finish() override { return {{}, summary_.objects()}; }

 private:
  json row_of(const Case& c, const TransferMethod& method) const {
    json row = measured_row(c, method.impl, method.seconds);
    add_no_energy(row, energy_.why_none("no energy is measured of allocations and copies"));
    return row;
  }

  CaseOutput on_host(const Case& c, const TransferBatch& batch) {
    const std::vector<TransferMethod> ways = measure_host_transfer(plan_, batch).ways;
    const auto s = [&](std::size_t i) { return ways[i].seconds.centre; };
    CaseOutput output{
        {host_transfer_table().row({sizes_text(c), std::to_string(batch.count), seconds_text(s(0)),
                                    seconds_text(s(1)), seconds_text(s(2)), ratio_text(s(0) / s(2))})},
        {}};
    for (const TransferMethod& method : ways) output.rows.push_back(row_of(c, method));
    summary_.add(c, std::min(s(0), s(1)) / s(2), 0);
    return output;
  }

  CaseOutput on_gpu(Case c, const TransferBatch& batch) {
    const TransferResult result = measure_gpu_transfer(plan_, batch);
    c.problem.batch_count = result.batch.count;
    CaseOutput output;
    if (result.batch.count < batch.count)
      output.lines.push_back(fmt::format("{}: {} of {} problems are measured, so that the case takes seconds",
                                         sizes_text(c), result.batch.count, batch.count));
    const auto whole_s = [&](const TransferMethod& method) {
      for (const TransferMethod& other : result.ways)
        if (other.memory == method.memory && other.impl == "one_block") return other.seconds.centre;
      return method.seconds.centre;
    };
    for (const TransferMethod& method : result.ways) {
      const double ratio = method.seconds.centre / whole_s(method);
      std::vector<std::string> cells{fmt::format("{}, {} {}", sizes_text(c), method.memory, method.impl),
                                     std::to_string(c.problem.batch_count)};
      const auto add = [&](const Estimate& time) {
        cells.push_back(fmt::format("{:.{}f}", time.centre * 1e3, time.centre < 0.1 ? 3 : 0));
      };
      for (const TransferStage& stage : method.stages) add(stage.seconds);
      add(method.seconds);
      cells.push_back(ratio_text(ratio));
      output.lines.push_back(gpu_transfer_table().row(cells));
      json row = row_of(c, method);
      row["memory"] = method.memory;
      row["metrics"] = metrics_of(method);
      row["metrics"]["ratio"] = ratio;
      row["metrics"]["asked_batch_count"] = batch.count;
      row.update(result.provenance);
      output.rows.push_back(row);
      // Reports the gain of one block for the whole batch, the layout that the library asks of its callers.
      if (method.impl != "one_block") summary_.add(c, ratio, 0);
    }
    return output;
  }

  const Plan& plan_;
  HostEnergy energy_;
  std::vector<std::string> seen_;
  Summary summary_;
};

}  // namespace

std::unique_ptr<Family> transfer_family(const Plan& plan) { return std::make_unique<Transfer>(plan); }

}  // namespace tilewright::bench
