// Shared code of the client programs: they call the library as its users do, and OpenBLAS and LIBXSMM as
// theirs do, alternately within one process. Times are CPU times of the calling thread, medians over rounds.
#pragma once

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "../program.hpp"
#include "core/json.hpp"
#include "measure/clock.hpp"
#include "tilewright/gemm.hpp"

#ifdef TILEWRIGHT_PEER_LIBXSMM
#include <libxsmm.h>
#endif

namespace tilewright::clients {

// One multiplication as every contender receives it: C = A B + C, columns packed unless an ld says otherwise.
struct Product {
  int m, n, k;
  int lda, ldb, ldc;
  const double *a, *b;
  double* c;
};

// A single-threaded CBLAS, from TILEWRIGHT_CBLAS or the default name.
class Cblas {
 public:
  Cblas() {
    setenv("OPENBLAS_NUM_THREADS", "1", 0);
    const char* named = getenv("TILEWRIGHT_CBLAS");
    void* library = dlopen(named != nullptr ? named : "libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) gemm_ = reinterpret_cast<Gemm>(dlsym(library, "cblas_dgemm"));
  }
  explicit operator bool() const { return gemm_ != nullptr; }
  void operator()(const Product& p, Op op_a = Op::none, Op op_b = Op::none, double beta = 1) const {
    gemm_(102, op_a == Op::none ? 111 : 112, op_b == Op::none ? 111 : 112, p.m, p.n, p.k, 1, p.a, p.lda, p.b,
          p.ldb, beta, p.c, p.ldc);
  }

 private:
  using Gemm = void (*)(int, int, int, int, int, int, double, const double*, int, const double*, int, double,
                        double*, int);
  Gemm gemm_ = nullptr;
};

#ifdef TILEWRIGHT_PEER_LIBXSMM
inline constexpr bool has_libxsmm = true;
inline libxsmm_dmmfunction libxsmm_kernel(const Product& p) {
  const double one = 1;
  const int flags = LIBXSMM_GEMM_FLAG_NONE, prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
  return libxsmm_dmmdispatch(p.m, p.n, p.k, &p.lda, &p.ldb, &p.ldc, &one, &one, &flags, &prefetch);
}
inline void libxsmm_dispatch_and_call(const Product& p) {
  if (const auto kernel = libxsmm_kernel(p)) kernel(p.a, p.b, p.c);
}
#else
inline constexpr bool has_libxsmm = false;
inline void libxsmm_dispatch_and_call(const Product&) {}
#endif

// Calls without options, as most calls are: constructing options takes as long as a small product.
inline void tilewright_gemm(Context& context, const Product& p,
                            const GemmOptions& options = default_options()) {
  gemm<double>(context, Op::none, Op::none, 1.0, {p.a, p.m, p.k, p.lda}, {p.b, p.k, p.n, p.ldb}, 1.0,
               {p.c, p.m, p.n, p.ldc}, options);
}

inline ContextOptions quiet() {
  ContextOptions options;
  options.notices = false;
  return options;
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Runs the contenders alternately, each once per round; returns seconds of one unit of work, medians.
class Turns {
 public:
  void add(std::string name, std::function<void()> run) { all_.push_back({std::move(name), std::move(run)}); }

  // `first`: the number of the first round; each round starts with another contender.
  std::map<std::string, double> seconds(int rounds, double units, int first = 0) const {
    std::map<std::string, std::vector<double>> samples;
    for (int round = first; round < first + rounds; ++round)
      for (std::size_t i = 0; i < all_.size(); ++i) {
        const auto& [name, run] = all_[(i + std::size_t(round)) % all_.size()];
        const double before = thread_cpu_seconds();
        run();
        samples[name].push_back((thread_cpu_seconds() - before) / units);
      }
    std::map<std::string, double> medians;
    for (const auto& [name, values] : samples) medians[name] = median(values);
    return medians;
  }

 private:
  std::vector<std::pair<std::string, std::function<void()>>> all_;
};

// Adds loops over the products for each available peer.
inline void add_peers(Turns& turns, const Cblas& cblas, const std::vector<Product>& products) {
  if (cblas)
    turns.add("openblas", [&] {
      for (const Product& p : products) cblas(p);
    });
  if (has_libxsmm)
    turns.add("libxsmm dispatch", [&] {
      for (const Product& p : products) libxsmm_dispatch_and_call(p);
    });
}

// Prints one line of JSON: the case, nanoseconds of each contender, and the time of each tilewright variant
// as a share of the best peer's.
inline void print_case(nlohmann::json line, const std::map<std::string, double>& seconds) {
  double best = 0;
  for (const auto& [name, s] : seconds) {
    line["ns"][name] = std::round(s * 1e10) / 10;
    if (!name.starts_with("tilewright") && (best == 0 || s < best)) best = s;
  }
  if (best > 0)
    for (const auto& [name, s] : seconds)
      if (name.starts_with("tilewright")) line["over_best_peer"][name] = std::round(s / best * 1000) / 1000;
  fmt::print("{}\n", line.dump());
  std::fflush(stdout);
}

}  // namespace tilewright::clients
