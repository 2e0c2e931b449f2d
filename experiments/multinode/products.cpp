// pdgemm and pdgetrf as programs on clusters call them: through ScaLAPACK, knowing nothing of this library.
// Which BLAS serves the processes is decided by who starts them: preload libtilewright_blas, or not. Times
// every call between barriers, checks the result by products with a vector, and writes a line of JSON.
// Routine network times messages between the first and the last rank.
//   mpirun -n 4 distributed_products --routine lu --n 32768 --nb 512 --grid 2x2 --repetitions 2 --json
//   run.jsonl
#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

// A process grid, a process's part of a block-cyclic matrix, and the names of ScaLAPACK and its BLACS that
// are called here (Fortran's, integers of 32 bits). Needs MPI.
extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridinfo(int context, int* rows, int* columns, int* row, int* column);
void Cblacs_gridexit(int context);
int numroc_(const int* n, const int* nb, const int* process, const int* first, const int* processes);
void descinit_(int* desc, const int* m, const int* n, const int* mb, const int* nb, const int* first_row,
               const int* first_column, const int* context, const int* lld, int* info);
void pdgemm_(const char* op_a, const char* op_b, const int* m, const int* n, const int* k,
             const double* alpha, const double* a, const int* ia, const int* ja, const int* desc_a,
             const double* b, const int* ib, const int* jb, const int* desc_b, const double* beta, double* c,
             const int* ic, const int* jc, const int* desc_c);
void pdgetrf_(const int* m, const int* n, double* a, const int* ia, const int* ja, const int* desc_a,
              int* pivots, int* info);
void pdgetrs_(const char* op, const int* n, const int* columns, const double* a, const int* ia, const int* ja,
              const int* desc_a, const int* pivots, double* b, const int* ib, const int* jb,
              const int* desc_b, int* info);
int pilaenv_(const int* context, const char* type);
}

namespace tilewright::distributed {
namespace {

// A grid of processes by rows and columns, numbered along the rows. It holds the first rows x columns
// processes of the program.
class Grid {
 public:
  Grid(int rows, int columns) : rows_(rows), columns_(columns) {
    Cblacs_get(-1, 0, &context_);
    Cblacs_gridinit(&context_, "Row", rows, columns);
    Cblacs_gridinfo(context_, &rows_, &columns_, &row_, &column_);
  }
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  // All processes call this together, at the end.
  void leave() {
    if (takes_part()) Cblacs_gridexit(context_);
  }
  bool takes_part() const { return row_ >= 0; }
  int context() const { return context_; }
  int rows() const { return rows_; }
  int columns() const { return columns_; }
  int row() const { return row_; }
  int column() const { return column_; }

 private:
  int context_ = 0, rows_, columns_, row_ = -1, column_ = -1;
};

// This process's part of an m x n matrix in square blocks of nb, column by column.
class Part {
 public:
  Part(const Grid& grid, int m, int n, int nb) : grid_(grid), nb_(nb) {
    const int first = 0, row = grid.row(), column = grid.column(), rows = grid.rows(),
              columns = grid.columns(), context = grid.context();
    rows_ = numroc_(&m, &nb, &row, &first, &rows);
    columns_ = numroc_(&n, &nb, &column, &first, &columns);
    const int lld = rows_ > 1 ? rows_ : 1;
    int info = 0;
    descinit_(desc_, &m, &n, &nb, &nb, &first, &first, &context, &lld, &info);
    // The memory is left untouched: whichever thread fills it first decides where its pages lie.
    values_.reset(new double[std::size_t(lld) * std::size_t(columns_ > 1 ? columns_ : 1)]);
  }

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  // Return the place in the whole matrix, counted from 0.
  int row_of(int own) const { return whole(own, grid_.row(), grid_.rows()); }
  int column_of(int own) const { return whole(own, grid_.column(), grid_.columns()); }
  const int* desc() const { return desc_; }
  double* data() { return values_.get(); }
  const double* data() const { return values_.get(); }
  double* column(int own) { return values_.get() + std::size_t(own) * std::size_t(desc_[8]); }
  const double* column(int own) const { return values_.get() + std::size_t(own) * std::size_t(desc_[8]); }

 private:
  int whole(int own, int process, int processes) const {
    return (own / nb_ * processes + process) * nb_ + own % nb_;
  }

  const Grid& grid_;
  int nb_, rows_ = 0, columns_ = 0;
  int desc_[9] = {};
  std::unique_ptr<double[]> values_;
};

struct Options {
  std::string routine = "gemm", json, label;
  int n = 1024, nb = 64, rows = 0, columns = 0, repetitions = 1, warm_n = 0;
};

// --- matrices whose elements follow from their place, so that no second copy is needed ---

// Returns an element between -0.5 and 0.5; `matrix` distinguishes matrices. The finalizer of MurmurHash3
// spreads the bits.
double element(std::uint64_t matrix, std::uint64_t row, std::uint64_t column) {
  std::uint64_t x = (matrix << 60) ^ (row << 30) ^ column;
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdu;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53u;
  return double((x ^ (x >> 33)) >> 11) * 0x1p-53 - 0.5;
}

void fill(Part& part, std::uint64_t matrix) {
#pragma omp parallel for
  for (int j = 0; j < part.columns(); ++j)
    for (int i = 0; i < part.rows(); ++i)
      part.column(j)[i] = element(matrix, std::uint64_t(part.row_of(i)), std::uint64_t(part.column_of(j)));
}

std::vector<double> vector_of(int n, std::uint64_t matrix) {
  std::vector<double> x(std::size_t(n), 0.0);
  for (int i = 0; i < n; ++i) x[std::size_t(i)] = element(matrix, std::uint64_t(i), 0);
  return x;
}

// Returns the product of the matrix and a vector, whole on every process.
std::vector<double> times(const Part& part, const std::vector<double>& x) {
  std::vector<double> y(x.size(), 0.0);
  for (int j = 0; j < part.columns(); ++j) {
    const double factor = x[std::size_t(part.column_of(j))];
    const double* column = part.column(j);
    for (int i = 0; i < part.rows(); ++i) y[std::size_t(part.row_of(i))] += column[i] * factor;
  }
  MPI_Allreduce(MPI_IN_PLACE, y.data(), int(y.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return y;
}

// Returns the largest sum of the absolute values of a row.
double norm(const Part& part, int n) {
  std::vector<double> sums(std::size_t(n), 0.0);
  for (int j = 0; j < part.columns(); ++j)
    for (int i = 0; i < part.rows(); ++i) sums[std::size_t(part.row_of(i))] += std::abs(part.column(j)[i]);
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return *std::max_element(sums.begin(), sums.end());
}

double largest(const std::vector<double>& x) {
  double most = 0;
  for (const double value : x) most = std::isnan(value) ? HUGE_VAL : std::max(most, std::abs(value));
  return most;
}

double largest_difference(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<double> z(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) z[i] = x[i] - y[i];
  return largest(z);
}

// --- the two routines ---

struct Outcome {
  std::vector<double> seconds;  // of the slowest process, one for each repetition
  double residual = 0;          // in units of the rounding error; sound below 16, as HPL counts
};

template <class Call>
double seconds_of(Call&& call) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  call();
  double seconds = MPI_Wtime() - begin;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

const int one = 1;

// Computes C = A B, and C x against A (B x), over eps n |A| |B| |x|.
Outcome run_gemm(const Grid& grid, int n, int nb, int repetitions) {
  Part a(grid, n, n, nb), b(grid, n, n, nb), c(grid, n, n, nb);
  fill(a, 1);
  fill(b, 2);
  fill(c, 3);
  const double alpha = 1, beta = 0;
  Outcome outcome;
  for (int i = 0; i < repetitions; ++i)
    outcome.seconds.push_back(seconds_of([&] {
      pdgemm_("N", "N", &n, &n, &n, &alpha, a.data(), &one, &one, a.desc(), b.data(), &one, &one, b.desc(),
              &beta, c.data(), &one, &one, c.desc());
    }));
  const std::vector<double> x = vector_of(n, 4);
  outcome.residual = largest_difference(times(c, x), times(a, times(b, x))) /
                     (DBL_EPSILON * std::sqrt(double(n)) * norm(a, n) * largest(x));
  return outcome;
}

// Computes P A = L U, and |A x - b| of the system solved with it over eps n (|A| |x| + |b|), as HPL counts.
Outcome run_lu(const Grid& grid, int n, int nb, int repetitions) {
  Part a(grid, n, n, nb), b(grid, n, 1, nb);
  std::vector<int> pivots(std::size_t(a.rows() + nb));
  Outcome outcome;
  int info = 0;
  for (int i = 0; i < repetitions; ++i) {
    fill(a, 1);
    outcome.seconds.push_back(
        seconds_of([&] { pdgetrf_(&n, &n, a.data(), &one, &one, a.desc(), pivots.data(), &info); }));
    if (info != 0) std::fprintf(stderr, "distributed_products: pdgetrf says info = %d\n", info);
  }
  fill(b, 2);
  pdgetrs_("N", &n, &one, a.data(), &one, &one, a.desc(), pivots.data(), b.data(), &one, &one, b.desc(),
           &info);
  std::vector<double> x(std::size_t(n), 0.0), right = vector_of(n, 2);
  for (int i = 0; b.columns() > 0 && i < b.rows(); ++i) x[std::size_t(b.row_of(i))] = b.column(0)[i];
  MPI_Allreduce(MPI_IN_PLACE, x.data(), n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  fill(a, 1);
  outcome.residual =
      largest_difference(times(a, x), right) / (DBL_EPSILON * n * (norm(a, n) * largest(x) + largest(right)));
  return outcome;
}

// --- the network ---

// Returns half the shortest of many round trips between rank 0 and the last.
double seconds_one_way(int bytes, int rank, int last) {
  std::vector<char> data(std::size_t(bytes) + 1);
  double least = HUGE_VAL;
  for (int i = 0; i < 20; ++i) {
    const double begin = MPI_Wtime();
    if (rank == 0) {
      MPI_Send(data.data(), bytes, MPI_CHAR, last, 0, MPI_COMM_WORLD);
      MPI_Recv(data.data(), bytes, MPI_CHAR, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == last) {
      MPI_Recv(data.data(), bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(data.data(), bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
    least = std::min(least, (MPI_Wtime() - begin) / 2);
  }
  return least;
}

// Returns a line of the latency and rate that scripts/cluster_model.py reads; empty except on rank 0.
std::string network_line(int rank, int ranks) {
  constexpr int small = 8, large = 16 << 20;
  const double latency = seconds_one_way(small, rank, ranks - 1),
               long_s = seconds_one_way(large, rank, ranks - 1);
  if (rank != 0) return "";
  char text[256];
  std::snprintf(text, sizeof text,
                "{\"family\":\"distributed\",\"routine\":\"network\",\"ranks\":%d,\"latency_s\":%.4g,\"bytes_"
                "per_s\":%.4g}",
                ranks, latency, large / std::max(long_s - latency, 1e-9));
  return text;
}

// --- output ---

std::string library_of(const char* symbol) {
  Dl_info info{};
  void* address = dlsym(RTLD_DEFAULT, symbol);
  if (address == nullptr || dladdr(address, &info) == 0) return "";
  const char* slash = std::strrchr(info.dli_fname, '/');
  return slash == nullptr ? info.dli_fname : slash + 1;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string line_of(const Options& options, const Grid& grid, const Outcome& outcome) {
  const double n = options.n;
  const double flops = options.routine == "gemm" ? 2 * n * n * n : 2 * n * n * n / 3 - n * n / 2;
  const double best = *std::min_element(outcome.seconds.begin(), outcome.seconds.end());
  const int context = grid.context();
  std::string times;
  for (const double s : outcome.seconds) times += (times.empty() ? "" : ",") + std::to_string(s);
  char text[1024];
  std::snprintf(text, sizeof text,
                "{\"family\":\"distributed\",\"routine\":\"p%s\",\"n\":%d,\"nb\":%d,\"grid\":\"%dx%d\","
                "\"logical_block\":%d,\"seconds\":[%s],\"best_s\":%.6f,\"gflops\":%.2f,\"residual\":%.4g,"
                "\"passed\":%s,\"gemm_of\":\"%s\",\"mode\":\"%s\",\"threads\":\"%s\",\"cpus\":%u,"
                "\"label\":\"%s\"}",
                options.routine == "gemm" ? "dgemm" : "dgetrf", options.n, options.nb, grid.rows(),
                grid.columns(), pilaenv_(&context, "D"), times.c_str(), best, flops / best / 1e9,
                outcome.residual, outcome.residual < 16 ? "true" : "false", library_of("dgemm_").c_str(),
                variable("TILEWRIGHT_BLAS").c_str(), variable("OPENBLAS_NUM_THREADS").c_str(),
                std::thread::hardware_concurrency(), options.label.c_str());
  return text;
}

bool read(Options& options, int argc, char** argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const char* value = argv[i + 1];
    if (name == "--routine")
      options.routine = value;
    else if (name == "--n")
      options.n = std::atoi(value);
    else if (name == "--nb")
      options.nb = std::atoi(value);
    else if (name == "--grid")
      (void)std::sscanf(value, "%dx%d", &options.rows, &options.columns);
    else if (name == "--repetitions")
      options.repetitions = std::atoi(value);
    else if (name == "--warm")
      options.warm_n = std::atoi(value);
    else if (name == "--json")
      options.json = value;
    else if (name == "--label")
      options.label = value;
    else
      return false;
  }
  return argc % 2 == 1 &&
         (options.routine == "gemm" || options.routine == "lu" || options.routine == "network") &&
         options.n > 0 && options.nb > 0 && options.repetitions > 0;
}

void report(const Options& options, const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
  if (options.json.empty()) return;
  if (std::FILE* file = std::fopen(options.json.c_str(), "a")) {
    std::fprintf(file, "%s\n", line.c_str());
    std::fclose(file);
  }
}

int run(Options options) {
  int ranks = 0, rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (options.routine == "network") {
    if (ranks < 2) return 2;
    const std::string line = network_line(rank, ranks);
    if (rank == 0) report(options, line);
    return 0;
  }
  if (options.rows == 0) options.rows = 1, options.columns = ranks;
  if (options.rows * options.columns != ranks) {
    if (rank == 0)
      std::fprintf(stderr,
                   "distributed_products: --grid %dx%d has not as many places as there are ranks, %d\n",
                   options.rows, options.columns, ranks);
    return 2;
  }
  Grid grid(options.rows, options.columns);
  const auto routine = options.routine == "gemm" ? run_gemm : run_lu;
  // The first calls make contexts, kernels and threads, which programs do once.
  if (options.warm_n > 0) (void)routine(grid, options.warm_n, options.nb, 1);
  const Outcome outcome = routine(grid, options.n, options.nb, options.repetitions);
  if (rank == 0) report(options, line_of(options, grid, outcome));
  grid.leave();
  return outcome.residual < 16 ? 0 : 1;
}

}  // namespace
}  // namespace tilewright::distributed

int main(int argc, char** argv) {
  tilewright::distributed::Options options;
  if (!read(options, argc, argv)) {
    std::fprintf(
        stderr,
        "distributed_products: --routine gemm|lu|network --n N --nb NB --grid PxQ --repetitions R --warm N "
        "--json FILE --label TEXT\n");
    return 2;
  }
  MPI_Init(&argc, &argv);
  const int status = tilewright::distributed::run(std::move(options));
  MPI_Finalize();
  return status;
}
