// Finds the routines of LAPACK by their Fortran names.
#include "factor_loops.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <complex>
#include <limits>
#include <optional>

#include "core/dispatch.hpp"
#include "native.hpp"

#ifdef TILEWRIGHT_PEER_EIGEN
#include "batch_loop.hpp"
#endif

namespace tilewright::peers {
namespace {

// Runs f(part of the batch) on each thread.
template <class F>
void in_parts(const FactorBatch& whole, int threads, F&& f) {
  const std::int64_t bytes = size_bytes(whole.dtype);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int t = 0; t < threads; ++t) {
    const std::int64_t first = whole.count * t / threads;
    FactorBatch part = whole;
    part.count = whole.count * (t + 1) / threads - first;
    part.a = static_cast<char*>(whole.a) + first * whole.n * whole.n * bytes;
    part.b = static_cast<char*>(whole.b) + first * whole.n * whole.nrhs * bytes;
    part.pivots = whole.pivots + first * whole.n;
    f(part);
  }
}

// The routines of one type, with 32-bit integers.
struct LapackRoutines {
  void *potrf = nullptr, *getrf = nullptr, *posv = nullptr, *gesv = nullptr, *getri = nullptr;
};

LapackRoutines lapack_routines(const std::string& library, DType dtype) {
  LapackRoutines found;
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return found;
  const char letter = "sdcz"[std::size_t(dtype)];
  const auto find = [&](const char* name) {
    return dlsym(handle, fmt::format("{}{}_", letter, name).c_str());
  };
  return {find("potrf"), find("getrf"), find("posv"), find("gesv"), find("getri")};
}

using Potrf = void(const char*, const int*, void*, const int*, int*, std::size_t);
using Getrf = void(const int*, const int*, void*, const int*, int*, int*);
using Posv = void(const char*, const int*, const int*, void*, const int*, void*, const int*, int*,
                  std::size_t);
using Gesv = void(const int*, const int*, void*, const int*, int*, void*, const int*, int*);
using Getri = void(const int*, void*, const int*, const int*, void*, const int*, int*);

template <class F>
F* as(void* routine) {
  return reinterpret_cast<F*>(routine);
}

void loop_over(const LapackRoutines& lapack, const FactorBatch& x) {
  const std::int64_t bytes = size_bytes(x.dtype);
  const int n = int(x.n), nrhs = int(x.nrhs), work_size = std::max(1, 64 * n);
  std::vector<std::complex<double>> work(x.routine == Routine::inv ? std::size_t(work_size) : 0);
  for (std::int64_t p = 0; p < x.count; ++p) {
    void* const a = static_cast<char*>(x.a) + p * x.n * x.n * bytes;
    void* const b = static_cast<char*>(x.b) + p * x.n * x.nrhs * bytes;
    int* const pivots = x.pivots + p * x.n;
    int info = 0;
    if (x.routine == Routine::potrf)
      as<Potrf>(lapack.potrf)("L", &n, a, &n, &info, 1);
    else if (x.routine == Routine::posv)
      as<Posv>(lapack.posv)("L", &n, &nrhs, a, &n, b, &n, &info, 1);
    else if (x.routine == Routine::gesv)
      as<Gesv>(lapack.gesv)(&n, &nrhs, a, &n, pivots, b, &n, &info);
    else
      as<Getrf>(lapack.getrf)(&n, &n, a, &n, pivots, &info);
    if (x.routine == Routine::inv) as<Getri>(lapack.getri)(&n, a, &n, pivots, work.data(), &work_size, &info);
  }
}

bool has_routine(const LapackRoutines& lapack, Routine routine) {
  switch (routine) {
    case Routine::potrf:
      return lapack.potrf != nullptr;
    case Routine::getrf:
      return lapack.getrf != nullptr;
    case Routine::posv:
      return lapack.posv != nullptr;
    case Routine::gesv:
      return lapack.gesv != nullptr;
    case Routine::inv:
      return lapack.getrf != nullptr && lapack.getri != nullptr;
    default:
      return false;
  }
}

void add_lapack(const CblasLibrary& library, const FactorBatch& batch, std::vector<FactorLoop>& loops,
                std::vector<std::string>& absent) {
  if (!library.available()) return absent.push_back("lapack_loop: " + library.error());
  if (library.largest_integer() > std::numeric_limits<int>::max())
    return absent.push_back(fmt::format("lapack_loop: {} has integers of 64 bits", library.name()));
  const LapackRoutines lapack = lapack_routines(library.name(), batch.dtype);
  if (!has_routine(lapack, batch.routine))
    return absent.push_back(fmt::format("lapack_loop: {} lacks the routine", library.name()));
  loops.push_back(
      {"lapack_loop", library.name(), "", [&library, lapack](const FactorBatch& all, int threads) {
         in_parts(all, threads, [&](const FactorBatch& part) {
           const LocalThreads one(library, 1);
           loop_over(lapack, part);
         });
       }});
}

#ifdef TILEWRIGHT_PEER_EIGEN
std::optional<EigenRoutine> eigen_routine(Routine routine) {
  switch (routine) {
    case Routine::potrf:
      return EigenRoutine::potrf;
    case Routine::getrf:
      return EigenRoutine::getrf;
    case Routine::posv:
      return EigenRoutine::posv;
    case Routine::gesv:
      return EigenRoutine::gesv;
    case Routine::inv:
      return EigenRoutine::inv;
    default:
      return std::nullopt;
  }
}

void add_eigen(const FactorBatch& batch, std::vector<FactorLoop>& loops, std::vector<std::string>& absent) {
  const auto routine = eigen_routine(batch.routine);
  if (!routine) return absent.push_back("eigen: it has no such routine");
  for (const std::int64_t n : {batch.n, std::int64_t(0)}) {
    const EigenFactor found = eigen_factor(*routine, int(batch.dtype), n);
    if (found.run == nullptr) continue;
    if (!runs_here(found.needs)) return absent.push_back(fmt::format("eigen: {}", wrong_processor));
    loops.push_back({"eigen", eigen_version(), found.variant,
                     [run = found.run](const FactorBatch& all, int threads) {
                       in_parts(all, threads,
                                [&](const FactorBatch& x) { run(x.n, x.nrhs, x.a, x.b, x.pivots, x.count); });
                     },
                     batch.routine == Routine::getrf});
  }
}
#else
void add_eigen(const FactorBatch&, std::vector<FactorLoop>&, std::vector<std::string>& absent) {
  absent.push_back("eigen: left out of this build: " TILEWRIGHT_NO_EIGEN);
}
#endif

}  // namespace

std::vector<std::string> factor_loop_names() { return {"lapack_loop", "eigen"}; }

std::vector<FactorLoop> factor_loops(const CblasLibrary& library, const FactorBatch& batch,
                                     std::vector<std::string>& absent) {
  std::vector<FactorLoop> loops;
  add_lapack(library, batch, loops, absent);
  add_eigen(batch, loops, absent);
  return loops;
}

}  // namespace tilewright::peers
