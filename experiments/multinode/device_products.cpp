// Products of matrices distributed over several GPUs of one machine, through tilewright/multinode.hpp:
// checked on small sizes, then timed beside cuBLAS on each GPU alone. Each process has one GPU.
//   device_products check --grid 2x1 --dtype f64 [--nccl libnccl.so.2]
//   device_products time --grid 2x1 --n 8192 --n 16384 [--block 1024] [--alone yes] [--nccl libnccl.so.2]
// Writes lines of JSON, the seconds of the slowest rank.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/dispatch.hpp"
#include "device/gpu/blas.hpp"
#include "device/gpu/gpu.hpp"
#include "ranks.hpp"
#include "tilewright/multinode.hpp"

namespace tilewright::distributed {
namespace {

// Checks small products of odd sizes for all types, operations and distributions against sums on the host.

struct Case {
  Op op_a = Op::none, op_b = Op::none;
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t block_m = 1, block_n = 1, block_k = 1;
  std::int64_t source_row = 0, source_col = 0;  // of all three matrices
  double alpha = 1, beta = 0;
};

std::vector<Case> check_cases() {
  std::vector<Case> cases;
  for (const Op op_a : {Op::none, Op::trans, Op::conj_trans})
    for (const Op op_b : {Op::none, Op::trans, Op::conj_trans})
      cases.push_back({op_a, op_b, 37, 29, 41, 5, 7, 6, 0, 0, 1.25, -0.5});
  cases.push_back({Op::none, Op::none, 37, 29, 41, 5, 7, 6, 0, 0, 1, 0});
  cases.push_back({Op::trans, Op::none, 37, 29, 41, 5, 7, 6, 0, 0, -1, 0});
  cases.push_back({Op::none, Op::none, 37, 29, 41, 5, 7, 6, 0, 0, 0, 0});
  cases.push_back({Op::none, Op::none, 37, 29, 41, 5, 7, 6, 0, 0, 0, 0.5});
  cases.push_back({Op::none, Op::none, 3, 4, 5, 64, 64, 64, 0, 0, 1, 1});  // one block: others have nothing
  cases.push_back({Op::none, Op::none, 259, 131, 301, 64, 32, 64, 0, 0, 1, 1});
  cases.push_back({Op::trans, Op::trans, 259, 131, 301, 64, 32, 64, 0, 0, 1, 1});
  cases.push_back({Op::none, Op::none, 37, 29, 41, 5, 7, 6, 1, 1, 1, 1});  // another process begins
  return cases;
}

// Returns an element between -1 and 1, always the same for the same indices.
double element(std::int64_t seed, std::int64_t i, std::int64_t j) {
  auto x = std::uint64_t(seed) * 0x9E3779B97F4A7C15U + std::uint64_t(i) * 0xBF58476D1CE4E5B9U +
           std::uint64_t(j) * 0x94D049BB133111EBU;
  x = (x ^ (x >> 31)) * 0xD6E8FEB86659FD93U;
  return double((x ^ (x >> 32)) >> 12) * 0x1p-51 - 1;
}
template <class T>
T value(std::int64_t seed, std::int64_t i, std::int64_t j) {
  if constexpr (is_complex(dtype_of<T>)) {
    using R = typename T::value_type;
    return T(R(element(seed, i, j)), R(element(seed + 100, i, j)));
  } else {
    return T(element(seed, i, j));
  }
}

// A process's part of a matrix on the host and on its GPU.
template <class T>
class Part {
 public:
  Part(const Gpu& gpu, const DistributedGemm& member, const ProcessGrid& grid, DistributedMatrix<T> shape)
      : shape_(shape), grid_(grid), row_(member.row()), col_(member.col()), memory_(gpu, bytes_of(shape)) {
    host_.assign(memory_.bytes() / sizeof(T), T(77));
    shape_.ld = ld();
    shape_.data = memory_.template as<T>();
  }
  std::int64_t rows() const {
    return local_extent(shape_.rows, shape_.block_rows, row_, source_row(), grid_.rows);
  }
  std::int64_t cols() const {
    return local_extent(shape_.cols, shape_.block_cols, col_, source_col(), grid_.cols);
  }
  std::int64_t ld() const { return rows() + 3; }
  // Return the place of a local element in the whole matrix.
  std::int64_t row_of(std::int64_t i) const {
    const std::int64_t distance = (row_ - source_row() + grid_.rows) % grid_.rows;
    return (i / shape_.block_rows * grid_.rows + distance) * shape_.block_rows + i % shape_.block_rows;
  }
  std::int64_t col_of(std::int64_t j) const {
    const std::int64_t distance = (col_ - source_col() + grid_.cols) % grid_.cols;
    return (j / shape_.block_cols * grid_.cols + distance) * shape_.block_cols + j % shape_.block_cols;
  }
  T& at(std::int64_t i, std::int64_t j) { return host_[std::size_t(j * ld() + i)]; }
  template <class Value>
  void fill(Value value_at) {
    for (std::int64_t j = 0; j < cols(); ++j)
      for (std::int64_t i = 0; i < rows(); ++i) at(i, j) = value_at(row_of(i), col_of(j));
    memory_.write(host_.data(), memory_.bytes());
  }
  void read() { memory_.read(host_.data(), memory_.bytes()); }
  const DistributedMatrix<T>& view() const { return shape_; }

 private:
  std::int64_t source_row() const { return shape_.source_row; }
  std::int64_t source_col() const { return shape_.source_col; }
  std::size_t bytes_of(const DistributedMatrix<T>& x) {
    shape_ = x;
    return std::size_t(ld() * (cols() + 1)) * sizeof(T);
  }

  DistributedMatrix<T> shape_;
  ProcessGrid grid_;
  std::int64_t row_, col_;
  GpuBuffer memory_;
  std::vector<T> host_;
};

template <class T>
T operand_at(Op op, std::int64_t seed, std::int64_t i, std::int64_t j) {
  if (op == Op::none) return value<T>(seed, i, j);
  const T x = value<T>(seed, j, i);
  if constexpr (is_complex(dtype_of<T>))
    return op == Op::conj_trans ? std::conj(x) : x;
  else
    return x;
}

// Returns "" if this process's part of C is right, else the first wrong element.
template <class T>
std::string fault_of(const Case& x, Part<T>& c) {
  using Wide = std::conditional_t<is_complex(dtype_of<T>), std::complex<double>, double>;
  const bool is_single = sizeof(T) / (is_complex(dtype_of<T>) ? 2 : 1) == sizeof(float);
  const double tolerance = 8 * double(x.k + 4) * (is_single ? 0x1p-24 : 0x1p-53);
  for (std::int64_t j = 0; j < c.cols(); ++j) {
    for (std::int64_t i = 0; i < c.rows(); ++i) {
      const std::int64_t row = c.row_of(i), col = c.col_of(j);
      Wide sum = 0;
      for (std::int64_t l = 0; x.alpha != 0 && l < x.k; ++l)
        sum += Wide(operand_at<T>(x.op_a, 1, row, l)) * Wide(operand_at<T>(x.op_b, 2, l, col));
      const Wide before = x.beta == 0 ? Wide(0) : Wide(value<T>(3, row, col));
      const Wide expected = x.alpha * sum + x.beta * before;
      const double off = std::abs(Wide(c.at(i, j)) - expected);
      if (!(off <= tolerance * 2)) {
        return "C(" + std::to_string(row) + ", " + std::to_string(col) + ") is off by " + std::to_string(off);
      }
    }
    for (std::int64_t i = c.rows(); i < c.ld(); ++i)
      if (c.at(i, j) != T(77)) return "padding behind column " + std::to_string(c.col_of(j)) + " was written";
  }
  return "";
}

// Runs a case; with alpha = 0 or beta = 0, operands that must not be read are NaN.
template <class T>
std::string check_case(const Gpu& gpu, DistributedGemm& member, const ProcessGrid& grid, const Case& x,
                       const GpuStream& stream) {
  const T nan(std::numeric_limits<float>::quiet_NaN());
  const auto shape = [&](Op op, std::int64_t rows, std::int64_t cols, std::int64_t block_rows,
                         std::int64_t block_cols) {
    if (op != Op::none) std::swap(rows, cols), std::swap(block_rows, block_cols);
    return DistributedMatrix<T>{
        nullptr, rows, cols, block_rows, block_cols, 0, x.source_row % grid.rows, x.source_col % grid.cols};
  };
  Part<T> a(gpu, member, grid, shape(x.op_a, x.m, x.k, x.block_m, x.block_k));
  Part<T> b(gpu, member, grid, shape(x.op_b, x.k, x.n, x.block_k, x.block_n));
  Part<T> c(gpu, member, grid, shape(Op::none, x.m, x.n, x.block_m, x.block_n));
  a.fill([&](std::int64_t i, std::int64_t j) { return x.alpha == 0 ? nan : value<T>(1, i, j); });
  b.fill([&](std::int64_t i, std::int64_t j) { return x.alpha == 0 ? nan : value<T>(2, i, j); });
  c.fill([&](std::int64_t i, std::int64_t j) { return x.beta == 0 ? nan : value<T>(3, i, j); });
  using Real = decltype(std::abs(T()));
  try {
    member.gemm<T>(x.op_a, x.op_b, T(Real(x.alpha)), a.view(), b.view(), T(Real(x.beta)), c.view(),
                   stream.get());
    stream.synchronize();
  } catch (const Error& error) {
    return std::string(error.code() == ErrorCode::unsupported ? "unsupported: " : "error: ") + error.what();
  }
  c.read();
  return fault_of(x, c);
}

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
