// A client of finite elements of high order: the operator of a hexahedron of degree p applied matrix-free, as
// six contractions of its n^3 values, n = p + 1, with a small matrix in x, y and z and with its transpose
// back. tilewright runs it as six calls over all elements, as six plans, and as a chain; loops over elements
// that keep one in cache use LIBXSMM's kernels, OpenBLAS, and Eigen with sizes known at compile time.
#include <omp.h>

#include <Eigen/Core>
#include <random>

#include "client.hpp"
#include "tilewright/chain.hpp"

namespace tilewright::clients {
namespace {

// The matrices by which an element is multiplied, forward and back, and the memory of all elements. Neither
// fits a cache.
template <int N>
struct Mesh {
  static constexpr std::int64_t values = std::int64_t(N) * N * N;
  static constexpr std::int64_t elements = (std::int64_t(1) << 23) / values;

  std::vector<double> d, dt, u, t1, t2, v;

  Mesh() : d(N * N), dt(N * N), u(std::size_t(values * elements)), t1(u), t2(u), v(u) {
    std::mt19937 random(29);
    for (double& x : d) x = 0.5 - double(random() % 1024) / 1024;
    for (int i = 0; i < N; ++i)
      for (int j = 0; j < N; ++j) dt[std::size_t(i * N + j)] = d[std::size_t(j * N + i)];
    for (double& x : u) x = 0.5 - double(random() % 1024) / 1024;
  }
};

// Calls multiply(m, n, a, b, c) for C = A B, m x N times N x n, columns packed. x: D (N x N) from the left;
// y: its transpose from the right of each slice; z: the same from the right of the slices as columns; then
// back.
template <int N, class Multiply>
void apply_element(const double* d, const double* dt, const double* u, double* s, double* t, double* v,
                   Multiply&& multiply) {
  constexpr int slice = N * N;
  const auto in_y = [&](const double* from, const double* matrix, double* to) {
    for (int z = 0; z < N; ++z) multiply.template operator()<N, N>(from + z * slice, matrix, to + z * slice);
  };
  multiply.template operator()<N, slice>(d, u, s);
  in_y(s, dt, t);
  multiply.template operator()<slice, N>(t, dt, s);
  multiply.template operator()<slice, N>(s, d, t);
  in_y(t, d, s);
  multiply.template operator()<N, slice>(dt, s, v);
}

template <int N, class Multiply>
void apply_loop(Mesh<N>& mesh, int threads, const Multiply& multiply) {
#pragma omp parallel num_threads(threads)
  {
    std::vector<double> s(Mesh<N>::values), t(Mesh<N>::values);
#pragma omp for schedule(static)
    for (std::int64_t e = 0; e < Mesh<N>::elements; ++e)
      apply_element<N>(mesh.d.data(), mesh.dt.data(), &mesh.u[std::size_t(e * Mesh<N>::values)], s.data(),
                       t.data(), &mesh.v[std::size_t(e * Mesh<N>::values)], multiply);
  }
}

template <int N, bool Lazy>
struct EigenProduct {
  template <int M, int Cols>
  void operator()(const double* a, const double* b, double* c) const {
    const Eigen::Map<const Eigen::Matrix<double, M, N>> left(a);
    const Eigen::Map<const Eigen::Matrix<double, N, Cols>> right(b);
    Eigen::Map<Eigen::Matrix<double, M, Cols>> out(c);
    if constexpr (Lazy)
      out.noalias() = left.lazyProduct(right);
    else
      out.noalias() = left * right;
  }
};

template <int N>
struct CblasProduct {
  const Cblas& cblas;

  template <int M, int Cols>
  void operator()(const double* a, const double* b, double* c) const {
    cblas({M, Cols, N, M, N, M, a, b, c}, Op::none, Op::none, 0);
  }
};

#ifdef TILEWRIGHT_PEER_LIBXSMM
// Kernels that a program looks up once and keeps.
template <int N>
struct LibxsmmProduct {
  libxsmm_dmmfunction x = find(N, N*N), y = find(N, N), z = find(N * N, N);

  static libxsmm_dmmfunction find(int m, int n) {
    const double one = 1, zero = 0;
    const int lda = m, ldb = N, ldc = m, flags = LIBXSMM_GEMM_FLAG_NONE;
    const int prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
    return libxsmm_dmmdispatch(m, n, N, &lda, &ldb, &ldc, &one, &zero, &flags, &prefetch);
  }
  template <int M, int Cols>
  void operator()(const double* a, const double* b, double* c) const {
    (M > N ? z : Cols > N ? x : y)(a, b, c);
  }
};
#endif

// Runs tilewright: in x and z one product for each element, in y one for each slice. Calls and plans are over
// all elements; `threads` are OpenMP's.
template <int N>
class Ours {
 public:
  Ours(Mesh<N>& mesh, int threads) : mesh_(mesh), context_(quiet()) {
    options_.threads = threads;
    options_.target = Target::cpu;
    for (const char* rest :
         {"m={0},n={1},k={0}:strided:batch={2}:stride_a=0", "m={0},n={0},k={0}:strided:batch={3}:stride_b=0",
          "m={1},n={0},k={0}:strided:batch={2}:stride_b=0"}) {
      const std::string text = fmt::format(fmt::runtime(rest), N, N * N, elements, elements * N);
      plans_.push_back(plan(context_, parse_problem("gemm_batched:f64:nn:" + text), options_));
      GemmOptions in_cache = options_;
      in_cache.residency = Residency::l2;
      cached_.push_back(plan(context_, parse_problem("gemm_batched:f64:nn:" + text), in_cache));
    }
  }

  void calls() {
    const double *d = mesh_.d.data(), *dt = mesh_.dt.data();
    double *s = mesh_.t1.data(), *t = mesh_.t2.data();
    call({{d, N, N, N}, 0, elements}, rows<const double>(mesh_.u.data()), rows(s));
    call(slices<const double>(s), matrices(dt), slices(t));
    call(columns<const double>(t), {{dt, N, N, N}, 0, elements}, columns(s));
    call(columns<const double>(s), {{d, N, N, N}, 0, elements}, columns(t));
    call(slices<const double>(t), matrices(d), slices(s));
    call({{dt, N, N, N}, 0, elements}, rows<const double>(s), rows(mesh_.v.data()));
  }

  void plans() {
    const auto passes = passes_of(plans_, mesh_.t1.data(), mesh_.t2.data());
    for (const ChainPass<double>& x : passes) x.plan->run<double>(1.0, x.a.data, x.b.data, 0.0, x.c.data);
  }

  void chain(bool scratch, std::int64_t piece = 0) {
    run_chain<double>(elements,
                      scratch ? passes_of(cached_, ChainScratch{1}, ChainScratch{2})
                              : passes_of(cached_, mesh_.t1.data(), mesh_.t2.data()),
                      {.threads = options_.threads, .piece = piece});
  }
  std::string explain() {
    return explain_chain<double>(elements, passes_of(cached_, ChainScratch{1}, ChainScratch{2}),
                                 {.threads = options_.threads});
  }

 private:
  static constexpr std::int64_t values = Mesh<N>::values, elements = Mesh<N>::elements;

  template <class T>
  static StridedBatch<T> slices(T* data) {
    return {{data, N, N, N}, N * N, N * elements};
  }
  static StridedBatch<const double> matrices(const double* data) {
    return {{data, N, N, N}, 0, N * elements};
  }
  template <class T>
  static StridedBatch<T> rows(T* data) {
    return {{data, N, N * N, N}, values, elements};
  }
  template <class T>
  static StridedBatch<T> columns(T* data) {
    return {{data, N * N, N, N * N}, values, elements};
  }
  void call(const StridedBatch<const double>& a, const StridedBatch<const double>& b,
            const StridedBatch<double>& c) {
    gemm_batched<double>(context_, Op::none, Op::none, 1.0, a, b, 0.0, c, options_);
  }

  std::vector<ChainPass<double>> passes_of(const std::vector<GemmPlan>& by, ChainOperand<double> s,
                                           ChainOperand<double> t) {
    const auto read = [](const ChainOperand<double>& x) {
      return x.scratch > 0 ? ChainOperand<const double>(ChainScratch{x.scratch})
                           : ChainOperand<const double>(x.data);
    };
    const double *d = mesh_.d.data(), *dt = mesh_.dt.data();
    return {{&by[0], 1.0, d, mesh_.u.data(), 0.0, s}, {&by[1], 1.0, read(s), dt, 0.0, t},
            {&by[2], 1.0, read(t), dt, 0.0, s},       {&by[2], 1.0, read(s), d, 0.0, t},
            {&by[1], 1.0, read(t), d, 0.0, s},        {&by[0], 1.0, dt, read(s), 0.0, mesh_.v.data()}};
  }

  Mesh<N>& mesh_;
  Context context_;
  GemmOptions options_;
  std::vector<GemmPlan> plans_, cached_;
};

// Returns the largest difference from the v that `run` computes, relative to the first contender.
class SameResult {
 public:
  double difference(std::vector<double>& v, const std::function<void()>& run) {
    std::fill(v.begin(), v.end(), 0);
    run();
    if (first_.empty()) first_ = v;
    double most = 0;
    for (std::size_t i = 0; i < v.size(); ++i) most = std::max(most, std::abs(v[i] - first_[i]));
    return most;
  }

 private:
  std::vector<double> first_;
};

template <int N>
void compare(const Cblas& cblas, int threads, std::int64_t piece) {
  Mesh<N> mesh;
  Ours<N> tested(mesh, threads);
  std::vector<std::pair<std::string, std::function<void()>>> all{
      {"tilewright calls", [&] { tested.calls(); }},
      {"tilewright plans", [&] { tested.plans(); }},
      {"tilewright chain", [&] { tested.chain(false, piece); }},
      {"tilewright chain with scratch", [&] { tested.chain(true, piece); }},
      {"eigen", [&] { apply_loop(mesh, threads, EigenProduct<N, false>{}); }},
      {"eigen lazy", [&] { apply_loop(mesh, threads, EigenProduct<N, true>{}); }}};
  // The serial build of OpenBLAS was seen to give wrong results if several threads call it at once.
  if (cblas && threads == 1)
    all.push_back({"openblas", [&] { apply_loop(mesh, threads, CblasProduct<N>{cblas}); }});
#ifdef TILEWRIGHT_PEER_LIBXSMM
  const LibxsmmProduct<N> by_libxsmm;
  all.push_back({"libxsmm", [&] { apply_loop(mesh, threads, by_libxsmm); }});
#endif
  Turns turns;
  SameResult same;
  for (auto& [name, run] : all) {
    if (const double wrong = same.difference(mesh.v, run); !(wrong < 1e-10))
      throw Error(ErrorCode::internal, name, fmt::format("{} differs by {}", name, wrong));
    turns.add(name, std::move(run));
  }
  print_case({{"client", "sum_factorization"},
              {"p", N - 1},
              {"elements", Mesh<N>::elements},
              {"threads", threads},
              {"flops_of_element", 12 * Mesh<N>::values * N}},
             turns.seconds(9, double(Mesh<N>::elements)));
}

void run(int least_threads, std::int64_t piece) {
  const Cblas cblas;
  for (int threads = least_threads; threads <= omp_get_max_threads(); threads *= 2) {
    compare<4>(cblas, threads, piece);
    compare<5>(cblas, threads, piece);
    compare<6>(cblas, threads, piece);
    compare<7>(cblas, threads, piece);
    compare<8>(cblas, threads, piece);
    compare<9>(cblas, threads, piece);
  }
}

}  // namespace
}  // namespace tilewright::clients

// Arguments: [least number of threads, doubled up to OpenMP's [elements of a piece; 0: the chain's own]]
int main(int count, char** arguments) {
  tilewright::bench::print_command(count, arguments);
  tilewright::clients::run(count > 1 ? std::max(1, std::atoi(arguments[1])) : 1,
                           count > 2 ? std::atoll(arguments[2]) : 0);
}
