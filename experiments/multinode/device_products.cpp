// Products of matrices distributed over several GPUs of one machine, through tilewright/multinode.hpp:
// checked on small sizes, then timed beside cuBLAS on each GPU alone. Each process has one GPU.
//   device_products check --grid 2x1 --dtype f64 [--nccl libnccl.so.2]
//   device_products time --grid 2x1 --n 8192 --n 16384 [--block 1024] [--alone yes] [--nccl libnccl.so.2]
// Writes lines of JSON, the seconds of the slowest rank.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>

#include "core/dispatch.hpp"
#include "device/gpu/blas.hpp"
#include "device_check.hpp"
#include "nccl.hpp"
#include "ranks.hpp"

namespace tilewright::distributed {
namespace {

struct Options {
  std::string verb, nccl = "libnccl.so.2";
  ProcessGrid grid{};
  RankOrder order = RankOrder::column_major;
  DType dtype = DType::f64;
  std::vector<std::int64_t> n{};
  std::int64_t block = 1024;
  bool alone = false;
};

Options parse(int argc, char** argv) {
  const std::string usage =
      "usage: device_products check|time [--grid RxC] [--order col|row] [--dtype f64] [--n N]... "
      "[--block NB] [--alone yes] [--nccl FILE]";
  if (argc < 2 || argc % 2 != 0) throw std::runtime_error(usage);
  Options o;
  o.verb = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string name = argv[i], text = argv[i + 1];
    const std::string dtypes[] = {"f32", "f64", "c64", "c128"};
    if (name == "--grid")
      o.grid.rows = std::stoll(text), o.grid.cols = std::stoll(text.substr(text.find('x') + 1));
    else if (name == "--order")
      o.grid.order = text == "row" ? RankOrder::row_major : RankOrder::column_major;
    else if (name == "--dtype")
      o.dtype = DType(std::find(dtypes, dtypes + 4, text) - dtypes);
    else if (name == "--n")
      o.n.push_back(std::stoll(text));
    else if (name == "--block")
      o.block = std::stoll(text);
    else if (name == "--alone")
      o.alone = text == "yes";
    else if (name == "--nccl")
      o.nccl = text;
    else
      throw std::runtime_error(usage);
  }
  if (o.dtype > DType::c128 || (o.verb != "check" && o.verb != "time")) throw std::runtime_error(usage);
  return o;
}

std::string grid_text(const ProcessGrid& grid) {
  return fmt::format(R"("grid":"{}x{}","order":"{}")", grid.rows, grid.cols,
                     grid.order == RankOrder::row_major ? "row" : "col");
}

// Returns the letter of an operation as problems have it.
char letter(Op op) { return "ntc"[int(op)]; }

std::string case_text(const Case& x, const char* dtype) {
  return fmt::format(
      R"("dtype":"{}","op":"{}{}","m":{},"n":{},"k":{},"blocks":"{}x{}x{}","source":"{},{}","alpha":{},"beta":{})",
      dtype, letter(x.op_a), letter(x.op_b), x.m, x.n, x.k, x.block_m, x.block_n, x.block_k, x.source_row,
      x.source_col, x.alpha, x.beta);
}

// Returns 0 if right, 1 if refused as unsupported by every rank, 2 if wrong.
double verdict_number(const std::string& verdict) {
  return verdict.empty() ? 0 : verdict.starts_with("unsupported") ? 1 : 2;
}

int check(const Options& o, Ranks& ranks, const Gpu& gpu, void* communicator) {
  DistributedGemm member(communicator, o.grid);
  const GpuStream stream(gpu);
  const char* const names[] = {"f32", "f64", "c64", "c128"};
  int wrong = 0;
  for (const Case& x : check_cases()) {
    const std::string text = case_text(x, names[int(o.dtype)]);
    if (ranks.rank() == 0) std::fprintf(stderr, "%s %s\n", grid_text(o.grid).c_str(), text.c_str());
    const std::string verdict =
        dispatch(o.dtype, [&]<class T>() { return check_case<T>(gpu, member, o.grid, x, stream); });
    if (!verdict.empty()) std::fprintf(stderr, "rank %d: %s\n", ranks.rank(), verdict.c_str());
    const double worst = ranks.largest(verdict_number(verdict));
    wrong += worst == 2 ? 1 : 0;
    const char* const words[] = {"right", "unsupported", "wrong"};
    if (ranks.rank() == 0)
      fmt::print("{{\"kind\":\"check\",{},{},\"verdict\":\"{}\",\"library\":\"{}\"}}\n", grid_text(o.grid),
                 text, words[int(worst)], member.library());
  }
  return wrong;
}

// The period of the random numbers, so that any element follows from its place in a part.
constexpr std::size_t pattern_length = 1000003;
std::vector<double> pattern() {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> draw(-1, 1);
  std::vector<double> values(pattern_length);
  for (double& x : values) x = draw(random);
  return values;
}

struct Timed {
  double best = 0, median = 0;
};

// Returns the seconds of the slowest rank, after one run that is not counted.
template <class Run>
Timed time_runs(Ranks& ranks, const GpuStream& stream, Run run) {
  constexpr int runs = 5;
  std::vector<double> seconds;
  for (int i = 0; i <= runs; ++i) {
    stream.synchronize();
    ranks.meet();
    const auto begin = std::chrono::steady_clock::now();
    run();
    stream.synchronize();
    const std::chrono::duration<double> own = std::chrono::steady_clock::now() - begin;
    const double slowest = ranks.largest(own.count());
    if (i > 0) seconds.push_back(slowest);
  }
  std::sort(seconds.begin(), seconds.end());
  return {seconds.front(), seconds[seconds.size() / 2]};
}

// Returns element (row, col) of a matrix of the timed products, from its owner's place and ld.
struct Pattern {
  const std::vector<double>& values;
  const ProcessGrid& grid;
  std::int64_t n, block;
  double at(std::int64_t row, std::int64_t col) const {
    const std::int64_t i = row / block / grid.rows * block + row % block;
    const std::int64_t j = col / block / grid.cols * block + col % block;
    const std::int64_t ld = local_extent(n, block, row / block % grid.rows, 0, grid.rows);
    return values[std::size_t(j * ld + i) % pattern_length];
  }
};

// Returns the largest error of some elements of C = A B, in units of epsilon times the sum of |a b|.
double error_of(const Pattern& pattern, const GpuBuffer& c, std::int64_t rows, std::int64_t cols,
                const DistributedGemm& member) {
  double worst = 0;
  for (int sample = 0; sample < 16; ++sample) {
    const std::int64_t i = rows * (2 * sample + 1) / 32, j = cols * (31 - sample) / 32;
    const std::int64_t b = pattern.block;
    const std::int64_t row = (i / b * pattern.grid.rows + member.row()) * b + i % b;
    const std::int64_t col = (j / b * pattern.grid.cols + member.col()) * b + j % b;
    long double sum = 0, magnitude = 0;  // wide enough for their own error to be negligible
    double found = 0;
    for (std::int64_t l = 0; l < pattern.n; ++l) {
      const long double product = static_cast<long double>(pattern.at(row, l)) * pattern.at(l, col);
      sum += product, magnitude += std::abs(product);
    }
    c.read(&found, sizeof found, std::size_t(j * rows + i) * sizeof found);
    const auto error = double(std::abs(found - sum) / (magnitude * 0x1p-53L));
    worst = error <= worst ? worst : error;  // also keeps NaN
  }
  return worst;
}

void fill(GpuBuffer& buffer, const std::vector<double>& values) {
  const std::size_t bytes = std::min(buffer.bytes(), values.size() * sizeof(double));
  buffer.write(values.data(), bytes);
  buffer.repeat(bytes);
}

void print_time(const char* kind, const std::string& more, std::int64_t n, const Timed& timed) {
  const double flops = 2 * double(n) * double(n) * double(n);
  fmt::print(
      "{{\"kind\":\"{}\",{},\"dtype\":\"f64\",\"n\":{},\"best_s\":{:.6f},\"median_s\":{:.6f},\"tflops\":{:."
      "2f}}}\n",
      kind, more, n, timed.best, timed.median, flops / timed.best * 1e-12);
}

int time_distributed(const Options& o, Ranks& ranks, const Gpu& gpu, void* communicator, std::int64_t n) {
  DistributedGemm member(communicator, o.grid);
  const GpuStream stream(gpu);
  const std::int64_t rows = local_extent(n, o.block, member.row(), 0, o.grid.rows);
  const std::int64_t cols = local_extent(n, o.block, member.col(), 0, o.grid.cols);
  const std::size_t bytes = std::size_t(std::max<std::int64_t>(1, rows * cols)) * sizeof(double);
  GpuBuffer a(gpu, bytes), b(gpu, bytes), c(gpu, bytes);
  const std::vector<double> values = pattern();
  fill(a, values), fill(b, values);
  const auto view = [&](GpuBuffer& x) {
    return DistributedMatrix<double>{
        x.as<double>(), n, n, o.block, o.block, std::max<std::int64_t>(1, rows), 0, 0};
  };
  const Timed timed = time_runs(ranks, stream, [&] {
    member.gemm<double>(Op::none, Op::none, 1, view(a), view(b), 0, view(c), stream.get());
  });
  const double error = ranks.largest(error_of({values, o.grid, n, o.block}, c, rows, cols, member));
  if (ranks.rank() == 0)
    print_time("time",
               fmt::format("{},\"block\":{},\"error\":{:.3f},\"library\":\"{}\",\"gpu\":\"{}\"",
                           grid_text(o.grid), o.block, error, member.library(), gpu.limits().name),
               n, timed);
  return error < 16 ? 0 : 1;
}

// Times the whole product on each GPU, all of them at once.
void time_alone(Ranks& ranks, const Gpu& gpu, std::int64_t n) {
  const GpuStream stream(gpu);
  const std::size_t bytes = std::size_t(n * n) * sizeof(double);
  GpuBuffer a(gpu, bytes), b(gpu, bytes), c(gpu, bytes);
  const std::vector<double> values = pattern();
  fill(a, values), fill(b, values);
  GpuBlas blas;
  blas.set_stream(stream.get());
  const double one = 1, zero = 0;
  const int size = int(n);
  const GpuBlas::Batch product{
      DType::f64, Op::none, Op::none, size,         size, size, &one, a.as<void>(), size, 0, b.as<void>(),
      size,       0,        &zero,    c.as<void>(), size, 0,    1};
  const Timed timed = time_runs(ranks, stream, [&] { blas.gemm(product); });
  if (ranks.rank() == 0)
    print_time("alone",
               fmt::format("\"library\":\"cuBLAS {}\",\"gpu\":\"{}\"", blas.version(), gpu.limits().name), n,
               timed);
}

int work(const Options& o, Ranks& ranks) {
  const Gpu gpu(ranks.rank());
  const Gpu::Current current(gpu);
  const Communicator communicator(o.nccl, ranks);
  if (ranks.rank() == 0) std::fprintf(stderr, "NCCL %d\n", communicator.version());
  if (o.verb == "check") return check(o, ranks, gpu, communicator.get());
  int wrong = 0;
  for (const std::int64_t n : o.n) {
    wrong += time_distributed(o, ranks, gpu, communicator.get(), n);
    if (o.alone) time_alone(ranks, gpu, n);
    std::fflush(stdout);
  }
  return wrong;
}

}  // namespace
}  // namespace tilewright::distributed

int main(int argc, char** argv) try {
  using namespace tilewright::distributed;
  const Options options = parse(argc, argv);
  const auto ranks = options.grid.rows * options.grid.cols;
  if (ranks < 1 || ranks > most_ranks) throw std::runtime_error("the grid has 1 to 16 ranks");
  return run_ranks(int(ranks), patience, [&](Ranks& own) {
    if (const int wrong = work(options, own); wrong > 0)
      throw std::runtime_error(std::to_string(wrong) + " cases are wrong");
  });
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
