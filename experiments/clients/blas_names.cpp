// A client of the BLAS names: dgemm_ in the first cache, the cost of a call that is not taken, and strided
// batches from memory, by Debian's OpenBLAS and the libraries that the arguments name, one thread each,
// opened side by side: tilewright=.../libtilewright_blas.so mkl=.../libmkl_rt.so.3
// (MKL_THREADING_LAYER=SEQUENTIAL).
#include "client.hpp"

namespace tilewright::clients {
namespace {

using Dgemm = void (*)(const char*, const char*, const int*, const int*, const int*, const double*,
                       const double*, const int*, const double*, const int*, const double*, double*,
                       const int*, std::size_t, std::size_t);
using Strided = void (*)(int, int, int, int, int, int, double, const double*, int, int, const double*, int,
                         int, double, double*, int, int, int);

using Grouped = void (*)(int, const int*, const int*, const int*, const int*, const int*, const double*,
                         const double**, const int*, const double**, const int*, const double*, double**,
                         const int*, int, const int*);

struct Library {
  std::string name;
  Dgemm dgemm = nullptr;
  Strided strided = nullptr;
  Grouped grouped = nullptr;
};

// Looks up a symbol; wheels rename theirs.
void* find(void* handle, const std::string& name) {
  void* plain = dlsym(handle, name.c_str());
  return plain != nullptr ? plain : dlsym(handle, ("scipy_" + name).c_str());
}

// Each argument is NAME=PATH; Debian's OpenBLAS comes first, to which tilewright forwards.
std::vector<Library> open_all(int count, char** arguments) {
  std::vector<std::string> wanted{"openblas=libopenblas.so.0"};
  wanted.insert(wanted.end(), arguments + 1, arguments + count);
  std::vector<Library> all;
  for (const std::string& one : wanted) {
    const auto at = one.find('=');
    void* handle = dlopen(one.c_str() + at + 1, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      fmt::print(stderr, "{} is left out: {}\n", one, dlerror());
      continue;
    }
    all.push_back({one.substr(0, at), reinterpret_cast<Dgemm>(find(handle, "dgemm_")),
                   reinterpret_cast<Strided>(find(handle, "cblas_dgemm_batch_strided")),
                   reinterpret_cast<Grouped>(find(handle, "cblas_dgemm_batch"))});
  }
  return all;
}

// Returns the processor for which Debian's OpenBLAS computes: OPENBLAS_CORETYPE selects another.
std::string openblas_core() {
  void* handle = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  void* name = handle == nullptr ? nullptr : dlsym(handle, "openblas_get_corename");
  return name == nullptr ? "" : reinterpret_cast<const char* (*)()>(name)();
}

nlohmann::json line_of(const char* part) {
  return {{"client", "blas_names"}, {"part", part}, {"openblas_core", openblas_core()}};
}

void call(Dgemm dgemm, int m, int n, const double* a, const double* b, double* c, double beta = 1) {
  const double one = 1;
  dgemm("N", "N", &m, &n, &n, &one, a, &n, b, &n, &beta, c, &n, 1, 1);
}

void compare_single(const std::vector<Library>& libraries, int n) {
  std::vector<double> a(std::size_t(n * n), 0.5), b(std::size_t(n * n), 0.25), c(std::size_t(n * n));
  const int calls = std::max(100, 4000000 / (n * n * n + 200));
  Turns turns;
  for (const Library& x : libraries)
    turns.add(x.name, [&, calls] {
      for (int i = 0; i < calls; ++i) call(x.dgemm, n, n, a.data(), b.data(), c.data(), 0);
    });
  (void)turns.seconds(3, calls);
  nlohmann::json line = line_of("single");
  line["n"] = n;
  print_case(line, turns.seconds(21, calls));
}

// Multiplies zero rows: the other library only has to check its arguments.
void compare_not_taken(const std::vector<Library>& libraries) {
  constexpr int calls = 200000;
  double x = 0;
  Turns turns;
  for (const Library& library : libraries)
    turns.add(library.name, [&] {
      for (int i = 0; i < calls; ++i) call(library.dgemm, 0, 100, &x, &x, &x);
    });
  (void)turns.seconds(3, calls);
  print_case(line_of("not_taken"), turns.seconds(21, calls));
}

// Multiplies 10,000 problems and rotates through as many batches as fill 256 MiB. Libraries without a batched
// function are called in a loop.
void compare_strided(const std::vector<Library>& libraries, int n) {
  constexpr int count = 10000;
  const std::size_t step = std::size_t(n * n), batch = step * count;
  const std::size_t batches =
      std::max<std::size_t>(1, (std::size_t(256) << 20) / (3 * batch * sizeof(double)));
  std::vector<double> a(batch * batches, 0.5), b(batch * batches, 0.25), c(batch * batches);
  std::size_t next = 0;
  Turns turns;
  for (const Library& x : libraries)
    turns.add(x.name, [&] {
      const std::size_t at = batch * (next++ % batches);
      if (x.strided != nullptr)
        x.strided(102, 111, 111, n, n, n, 1, &a[at], n, int(step), &b[at], n, int(step), 0, &c[at], n,
                  int(step), count);
      else
        for (std::size_t p = 0; p < count; ++p)
          call(x.dgemm, n, n, &a[at + p * step], &b[at + p * step], &c[at + p * step], 0);
    });
  (void)turns.seconds(2, count);
  nlohmann::json line = line_of("batch_strided");
  line["n"] = n;
  line["batch"] = count;
  print_case(line, turns.seconds(11, count));
}

// The experiment of the Batched BLAS paper's Fig. 2: the same 10,000 problems as one group and as 10,000
// groups of one, by all libraries that support groups.
struct GroupedProblems {
  static constexpr int count = 10000;
  GroupedProblems(int n, std::size_t batches)
      : a(batches * count * std::size_t(n * n), 0.5),
        b(a.size(), 0.25),
        c(a.size()),
        at_a(batches * count),
        at_b(at_a.size()),
        at_c(at_a.size()),
        ops(count, 111),
        sizes(count, n),
        ones(count, 1),
        all(1, count),
        alphas(count, 1),
        betas(count, 0) {
    for (std::size_t p = 0; p < at_a.size(); ++p)
      at_a[p] = &a[p * std::size_t(n * n)], at_b[p] = &b[p * std::size_t(n * n)],
      at_c[p] = &c[p * std::size_t(n * n)];
  }
  void multiply(Grouped gemm, std::size_t batch, bool one_group) {
    const std::size_t first = batch * count;
    const int* n = sizes.data();
    gemm(102, ops.data(), ops.data(), n, n, n, alphas.data(), &at_a[first], n, &at_b[first], n, betas.data(),
         &at_c[first], n, one_group ? 1 : count, one_group ? all.data() : ones.data());
  }

  std::vector<double> a, b, c;
  std::vector<const double*> at_a, at_b;
  std::vector<double*> at_c;
  std::vector<int> ops, sizes, ones, all;
  std::vector<double> alphas, betas;
};

void compare_grouped(const std::vector<Library>& libraries, int n) {
  const std::size_t bytes = std::size_t(3 * n * n) * 8 * GroupedProblems::count;
  const std::size_t batches = std::max<std::size_t>(1, (std::size_t(256) << 20) / bytes);
  GroupedProblems problems(n, batches);
  std::size_t next = 0;
  Turns turns;
  for (const Library& x : libraries)
    for (const bool one_group : {true, false})
      if (x.grouped != nullptr)
        turns.add(x.name + (one_group ? " one group" : " groups of one"),
                  [&, one_group] { problems.multiply(x.grouped, next++ % batches, one_group); });
  (void)turns.seconds(2, GroupedProblems::count);
  nlohmann::json line = line_of("batch_groups");
  line["n"] = n;
  line["batch"] = GroupedProblems::count;
  print_case(line, turns.seconds(21, GroupedProblems::count));
}

}  // namespace
}  // namespace tilewright::clients

int main(int count, char** arguments) {
  tilewright::bench::print_command(count, arguments);
  using namespace tilewright::clients;
  setenv("OPENBLAS_NUM_THREADS", "1", 0);
  setenv("MKL_THREADING_LAYER", "SEQUENTIAL", 0);
  const auto libraries = open_all(count, arguments);
  compare_not_taken(libraries);
  for (const int n : {4, 5, 6, 7, 8, 10, 12, 13, 16, 20, 23, 24, 28, 32, 40, 48, 56, 64})
    compare_single(libraries, n);
  for (const int n : {2, 3, 4, 5, 6, 7, 8, 10, 12, 13, 16, 20, 23, 24, 28, 31, 32})
    compare_strided(libraries, n);
  for (const int n : {2, 4, 8, 16, 32}) compare_grouped(libraries, n);
}
