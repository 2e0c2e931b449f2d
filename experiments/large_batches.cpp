// Batches of matrices of 65 to 512 in device memory: results of variable, grouped, pointer and interleaved
// batches beside cuBLAS and sums on the host, and their times beside a loop of cuBLAS's products, its grouped
// and its batched calls, in turns. Each line of its output is one result as JSON.
//
//     bench_large_batches --checks --times --rounds 11
#include "large_batches.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <sstream>

#include "core/dispatch.hpp"

namespace tilewright::experiment {
namespace {

struct LargeAsked {
  bool checks = false, times = false;
  int rounds = 11, device = 0;
  std::int64_t problems = 0;  // at most; 0: as many as a case has
  std::string only;           // kinds whose name contains it
};

constexpr const char* large_usage =
    "large_batches [--checks] [--times] [--rounds N] [--device N] [--problems MOST] [--only KIND]\n";

LargeAsked large_asked_of(int count, char** words) {
  LargeAsked a;
  for (int i = 1; i < count; ++i) {
    const std::string name = words[i];
    if (name == "--checks") {
      a.checks = true;
    } else if (name == "--times") {
      a.times = true;
    } else {
      if (i + 1 == count)
        throw Error(ErrorCode::invalid_argument, name, fmt::format("{} is no flag:\n{}", name, large_usage));
      const std::string value = words[++i];
      if (name == "--rounds") a.rounds = std::stoi(value);
      if (name == "--device") a.device = std::stoi(value);
      if (name == "--problems") a.problems = std::stoll(value);
      if (name == "--only") a.only = value;
    }
  }
  return a;
}

const char* name_of(BatchKind kind) {
  constexpr const char* names[] = {"variable", "grouped", "pointers", "interleaved"};
  return names[int(kind)];
}
std::string op_text(Op op) { return op == Op::none ? "n" : op == Op::trans ? "t" : "c"; }

using enum BatchKind;
constexpr Op plain = Op::none, turned = Op::trans;

// Every kind with every type, both ops and both beta, with gaps behind columns where beta is 1.
std::vector<LargeBatch> checked_batches() {
  std::vector<LargeBatch> all;
  for (const BatchKind kind : {variable, grouped, pointers, interleaved})
    for (const DType dtype : {DType::f64, DType::f32, DType::c64, DType::c128})
      for (const bool adds : {false, true}) {
        LargeBatch b{kind, dtype, adds ? turned : plain, plain,       65, 200,
                     12,   3,     adds ? 1.0 : 0.0,      adds ? 1 : 0};
        if (kind == pointers) b.low = b.high = adds ? 131 : 72, b.each = 1;
        if (kind == interleaved) b.low = b.high = adds ? 67 : 96, b.count = 40, b.each = adds ? 40 : 16;
        all.push_back(b);
      }
  all.push_back({variable, DType::f64, turned, plain, 1, 512, 60, 1, 0, 0});
  all.push_back({variable, DType::f32, plain, plain, 1, 512, 60, 1, 1, 1});
  return all;
}
std::vector<LargeBatch> timed_batches() {
  constexpr DType f64 = DType::f64, f32 = DType::f32;
  return {{variable, f64, plain, plain, 65, 512, 300, 1, 0, 0},
          {variable, f32, plain, plain, 65, 512, 300, 1, 0, 0},
          {variable, f64, turned, plain, 65, 128, 2000, 1, 1, 0},
          {variable, f32, turned, plain, 65, 256, 1000, 1, 1, 0},
          {variable, DType::c128, plain, plain, 65, 256, 200, 1, 0, 0},
          {grouped, f64, plain, plain, 65, 512, 320, 20, 0, 0},
          {grouped, f32, plain, plain, 65, 512, 320, 20, 0, 0},
          {grouped, f64, turned, plain, 65, 200, 400, 4, 1, 0},
          {pointers, f64, plain, plain, 128, 128, 2000, 1, 0, 0},
          {pointers, f32, plain, plain, 256, 256, 500, 1, 0, 0},
          {pointers, f64, turned, plain, 65, 65, 4000, 1, 1, 0},
          {interleaved, f64, plain, plain, 96, 96, 1024, 32, 0, 0},
          {interleaved, f32, plain, plain, 128, 128, 1024, 32, 0, 0},
          {interleaved, f64, turned, plain, 72, 72, 1024, 1024, 1, 0},
          {interleaved, f64, plain, plain, 256, 256, 256, 32, 0, 0}};
}

class LargeBench {
 public:
  explicit LargeBench(const LargeAsked& asked)
      : asked_(asked),
        gpu_(asked.device),
        current_(gpu_),
        stream_(gpu_),
        begin_(gpu_),
        end_(gpu_),
        context_({.notices = false}) {
    blas_.set_stream(stream_.get());
    fmt::print("{{\"device\": \"{}\", \"driver\": \"{}\", \"cublas\": \"{}\"}}\n", gpu_.limits().name,
               gpu_.limits().driver_version, blas_.version());
  }

  bool run(LargeBatch batch, bool timed) {
    if (asked_.problems > 0) batch.count = std::min(batch.count, asked_.problems);
    if (!asked_.only.empty() && std::string(name_of(batch.kind)).find(asked_.only) == std::string::npos)
      return true;
    bool is_right = false;
    try {
      dispatch(batch.dtype, [&]<class T>() { is_right = measure<T>(batch, timed); });
    } catch (const Error& error) {
      fmt::print(stderr, "{}: {}\n", head(batch), error.what());
      fmt::print("{}, \"failed\": true}}\n", head(batch));
    }
    std::fflush(stdout);
    return is_right;
  }

 private:
  static std::string head(const LargeBatch& b) {
    return fmt::format(
        R"({{"kind": "{}", "type": "{}", "op": "{}{}", "sizes": [{}, {}], "count": {}, "each": {}, )"
        R"("beta": {}, "gap": {})",
        name_of(b.kind), to_string(b.dtype), op_text(b.op_a), op_text(b.op_b), b.low, b.high, b.count, b.each,
        b.beta, b.gap);
  }

  template <class T>
  bool measure(const LargeBatch& batch, bool timed) {
    LargeBatchRun<T> run(gpu_, stream_.get(), batch);
    auto peers = run.peers(blas_);
    // The library may choose cuBLAS for these.
    const bool has_choice = batch.kind == grouped || batch.kind == pointers;
    const std::string own = has_choice ? "gpu_large" : "";
    if (has_choice) peers.emplace_back("gpu_large", [&] { run.run(context_, own); });
    run.run(context_, own);
    peers[0].second();
    stream_.synchronize();
    const LargeErrors errors = run.errors();
    std::string line = head(batch);
    line += fmt::format(
        R"(, "candidate": "{}", "error_peer": {:.3f}, "error_host": {:.3f}, "changed_gaps": {}, "right": {})",
        run.candidate(context_), errors.peer, errors.host, errors.changed_gaps, errors.is_right());
    if (timed && asked_.rounds > 0) line += times(run, peers);
    fmt::print("{}}}\n", line);
    return errors.is_right();
  }

  // Everybody in turns, the first of which is not counted; microseconds of the median turn.
  template <class T, class Peers>
  std::string times(LargeBatchRun<T>& run, const Peers& peers) {
    std::vector<std::vector<double>> seconds(peers.size() + 1);
    for (int round = 0; round <= asked_.rounds; ++round)
      for (std::size_t i = 0; i < seconds.size(); ++i) {
        begin_.record(stream_.get());
        if (i == 0)
          run.run(context_);
        else if (!seconds[i].empty() || round == 0)
          serve(peers[i - 1], seconds[i]);
        end_.record(stream_.get());
        end_.synchronize();
        const double taken = end_.seconds_since(begin_);
        if (i == 0 || !seconds[i].empty()) seconds[i].push_back(taken);
      }
    std::string text =
        fmt::format(R"(, "flops": {:.4g}, "tilewright_us": {:.2f})", run.flops(), middle(seconds[0]) * 1e6);
    for (std::size_t i = 0; i < peers.size(); ++i)
      if (!seconds[i + 1].empty())
        text += fmt::format(R"(, "{}_us": {:.2f})", peers[i].first, middle(seconds[i + 1]) * 1e6);
    return text;
  }
  // Marks a peer that serves the batch in the first turn by its first, not counted, time.
  template <class Peer>
  static void serve(const Peer& peer, std::vector<double>& seconds) try {
    peer.second();
    if (seconds.empty()) seconds.push_back(0);
  } catch (const Error& error) {
    fmt::print(stderr, "{}: {}\n", peer.first, error.what());
    seconds.clear();
  }
  // Returns the median of all rounds but those that warm up.
  double middle(std::vector<double> seconds) const {
    const auto first = seconds.end() - asked_.rounds;
    std::sort(first, seconds.end());
    return first[asked_.rounds / 2];
  }

  LargeAsked asked_;
  Gpu gpu_;
  Gpu::Current current_;
  GpuStream stream_;
  GpuEvent begin_, end_;
  GpuBlas blas_;
  Context context_;
};

}  // namespace
}  // namespace tilewright::experiment

int main(int count, char** words) try {
  using namespace tilewright::experiment;
  const LargeAsked asked = large_asked_of(count, words);
  if (!asked.checks && !asked.times) {
    fmt::print(stderr, "{}", large_usage);
    return 2;
  }
  std::string command;
  for (int i = 0; i < count; ++i)
    command += fmt::format("{}{}", i == 0 ? "" : " ", i == 0 ? "bench_large_batches" : words[i]);
  fmt::print("{{\"command\": \"{}\"}}\n", command);
  LargeBench bench(asked);
  bool is_right = true;
  if (asked.checks)
    for (const LargeBatch& one : checked_batches()) is_right = bench.run(one, false) && is_right;
  if (asked.times)
    for (const LargeBatch& one : timed_batches()) is_right = bench.run(one, true) && is_right;
  return is_right ? 0 : 1;
} catch (const std::exception& error) {
  fmt::print(stderr, "large_batches: {}\n", error.what());
  return 1;
}
