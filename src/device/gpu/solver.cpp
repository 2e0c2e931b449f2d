// Looks up cuSOLVER's functions and forwards calls.
#include "device/gpu/solver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/input/failure.hpp"

namespace tilewright {
namespace {

// cudaDataType by DType.
constexpr int data_types[] = {0, 1, 4, 5};

std::string getrf_name(DType dtype, const char* ending) {
  return fmt::format("cusolverDn{}getrf{}", "SDCZ"[int(dtype)], ending);
}

void* open_library() {
  for (const char* name : {"libcusolver.so.12", "libcusolver.so.11", "libcusolver.so"})
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

}  // namespace

template <class F>
F GpuSolver::find(const std::string& name) const {
  void* const found = dlsym(library_, name.c_str());
  if (found == nullptr) throw Error(ErrorCode::unsupported, "cusolver", "cuSOLVER has no " + name);
  return reinterpret_cast<F>(found);
}

void GpuSolver::check(int status, const std::string& call) const {
  if (status != 0)
    throw Error(ErrorCode::internal, "cusolver", fmt::format("{} failed with status {}", call, status));
}

GpuSolver::GpuSolver() : library_(open_library()) {
  if (library_ == nullptr)
    throw Error(ErrorCode::unsupported, "cusolver",
                fmt::format("cuSOLVER was not found ({})", loader_error()));
  int version = 0;
  check(find<int (*)(int*)>("cusolverGetVersion")(&version), "cusolverGetVersion");
  version_ = fmt::format("{}.{}.{}", version / 1000, version % 1000 / 100, version % 100);
  check(find<int (*)(void**)>("cusolverDnCreateParams")(&params_), "cusolverDnCreateParams");
  check(find<int (*)(void**)>("cusolverDnCreate")(&handle_), "cusolverDnCreate");
}

GpuSolver::~GpuSolver() {
  const auto destroy = [this](const char* name, void* what) {
    const auto function = reinterpret_cast<int (*)(void*)>(dlsym(library_, name));
    if (what != nullptr && function != nullptr) function(what);
  };
  destroy("cusolverDnDestroy", handle_);
  destroy("cusolverDnDestroyParams", params_);
}

void GpuSolver::set_stream(CUstream_st* stream) {
  check(find<int (*)(void*, CUstream_st*)>("cusolverDnSetStream")(handle_, stream), "cusolverDnSetStream");
}

std::int64_t GpuSolver::getrf_elements(DType dtype, std::int64_t m, std::int64_t n, void* a,
                                       std::int64_t lda) {
  int elements = 0;
  const std::string name = getrf_name(dtype, "_bufferSize");
  check(
      find<int (*)(void*, int, int, void*, int, int*)>(name)(handle_, int(m), int(n), a, int(lda), &elements),
      name);
  return elements;
}

void GpuSolver::getrf(DType dtype, std::int64_t m, std::int64_t n, void* a, std::int64_t lda, void* workspace,
                      int* pivots, int* info) {
  const std::string name = getrf_name(dtype, "");
  check(find<int (*)(void*, int, int, void*, int, void*, int*, int*)>(name)(
            handle_, int(m), int(n), a, int(lda), workspace, pivots, info),
        name);
}

GpuSolver::Workspace GpuSolver::xgetrf_workspace(DType dtype, std::int64_t m, std::int64_t n, const void* a,
                                                 std::int64_t lda) {
  using Size = int (*)(void*, void*, std::int64_t, std::int64_t, int, const void*, std::int64_t, int,
                       std::size_t*, std::size_t*);
  const int type = data_types[int(dtype)];
  Workspace sizes;
  check(find<Size>("cusolverDnXgetrf_bufferSize")(handle_, params_, m, n, type, a, lda, type,
                                                  &sizes.device_bytes, &sizes.host_bytes),
        "cusolverDnXgetrf_bufferSize");
  return sizes;
}

void GpuSolver::xgetrf(DType dtype, std::int64_t m, std::int64_t n, void* a, std::int64_t lda,
                       std::int64_t* pivots, const Workspace& sizes, void* device_workspace,
                       void* host_workspace, int* info) {
  using Factor = int (*)(void*, void*, std::int64_t, std::int64_t, int, void*, std::int64_t, std::int64_t*,
                         int, void*, std::size_t, void*, std::size_t, int*);
  const int type = data_types[int(dtype)];
  check(find<Factor>("cusolverDnXgetrf")(handle_, params_, m, n, type, a, lda, pivots, type, device_workspace,
                                         sizes.device_bytes, host_workspace, sizes.host_bytes, info),
        "cusolverDnXgetrf");
}

void GpuSolver::xgetrs(DType dtype, Op op, std::int64_t n, std::int64_t nrhs, const void* lu,
                       std::int64_t lda, const std::int64_t* pivots, void* b, std::int64_t ldb, int* info) {
  using Solve = int (*)(void*, void*, int, std::int64_t, std::int64_t, int, const void*, std::int64_t,
                        const std::int64_t*, int, void*, std::int64_t, int*);
  const int type = data_types[int(dtype)];
  check(find<Solve>("cusolverDnXgetrs")(handle_, params_, int(op), n, nrhs, type, lu, lda, pivots, type, b,
                                        ldb, info),
        "cusolverDnXgetrs");
}

}  // namespace tilewright
