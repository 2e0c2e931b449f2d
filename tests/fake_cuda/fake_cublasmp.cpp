// A libcublasmp.so.0 that records its calls and, on a grid of one process, multiplies by plain sums in the
// fake driver's memory. Variables of the environment change this:
// - TILEWRIGHT_FAKE_CUBLASMP_VERSION: which version it says to be, as it counts them; else 1000, 0.10.0;
// - TILEWRIGHT_FAKE_CUBLASMP_FAILING: NAME:STATUS, a function that fails.
#include <dlfcn.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "counts.hpp"

namespace fake_cuda = tilewright::fake_cuda;
namespace {

constexpr int invalid_value = 3, not_supported = 7;

struct Handle {
  void* stream = nullptr;
};
struct Grid {
  std::int64_t rows = 0, cols = 0;
};
struct Descriptor {
  std::int64_t rows = 0, cols = 0, block_rows = 0, block_cols = 0, source_row = 0, source_col = 0, ld = 0;
  int type = 0;
  const Grid* grid = nullptr;
};

std::string& calls() {
  static std::string text;
  return text;
}
int alive = 0;

// Records the call, and returns the status that the environment asks for.
int note(const std::string& name, const std::string& arguments = "") {
  calls() += name + arguments + "\n";
  const char* text = std::getenv("TILEWRIGHT_FAKE_CUBLASMP_FAILING");
  const std::string failing = text == nullptr ? "" : text;
  return failing.starts_with(name + ":") ? std::atoi(failing.c_str() + name.size() + 1) : 0;
}

template <class T>
int make(int status, T made, void** to) {
  if (status != 0) return status;
  *to = new T(made);
  ++alive;
  return 0;
}
template <class T>
int unmake(const char* name, void* old) {
  delete static_cast<T*>(old);
  --alive;
  return note(name);
}

struct Product {
  int op_a, op_b;
  std::int64_t m, n, k;
  const void *a, *b;
  void* c;
  Descriptor da, db, dc;
};

double conjugate(double x) { return x; }
float conjugate(float x) { return x; }
template <class T>
std::complex<T> conjugate(std::complex<T> x) {
  return std::conj(x);
}

template <class T>
void multiply_now(const Product& p, T alpha, T beta) {
  const auto at = [](const void* x, const Descriptor& d, int op, std::int64_t i, std::int64_t j) {
    const T* const elements = static_cast<const T*>(x);
    if (op == 0) return elements[j * d.ld + i];
    return op == 1 ? elements[i * d.ld + j] : conjugate(elements[i * d.ld + j]);
  };
  T* const c = static_cast<T*>(p.c);
  for (std::int64_t j = 0; j < p.n; ++j)
    for (std::int64_t i = 0; i < p.m; ++i) {
      T sum(0);
      for (std::int64_t l = 0; alpha != T(0) && l < p.k; ++l)
        sum += at(p.a, p.da, p.op_a, i, l) * at(p.b, p.db, p.op_b, l, j);
      T& to = c[j * p.dc.ld + i];
      to = beta == T(0) ? alpha * sum : alpha * sum + beta * to;
    }
}

// Queues on the handle's stream, as the fake driver does; writes to the workspaces, as the real library does.
template <class T>
int multiply(const Handle& handle, const Product& p, const void* alpha, const void* beta, void* device_work,
             std::size_t device_bytes, void* host_work, std::size_t host_bytes) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return invalid_value;
  const auto queue = reinterpret_cast<fake_cuda::QueueWork>(dlsym(driver, fake_cuda::queue_name));
  const T a = *static_cast<const T*>(alpha), b = *static_cast<const T*>(beta);
  return queue(handle.stream, [=] {
    std::memset(device_work, 1, device_bytes);
    std::memset(host_work, 1, host_bytes);
    multiply_now(p, a, b);
  });
}

std::string text_of(const Descriptor& d) {
  const auto pair = [](std::int64_t x, std::int64_t y) {
    return std::to_string(x) + "x" + std::to_string(y);
  };
  return " " + pair(d.rows, d.cols) + "/" + pair(d.block_rows, d.block_cols) + "@" +
         pair(d.source_row, d.source_col) + ":" + std::to_string(d.ld);
}

}  // namespace

extern "C" {

const char* fake_cublasmp_calls() { return calls().c_str(); }
void fake_cublasmp_forget() { calls().clear(); }
int fake_cublasmp_alive() { return alive; }

int cublasMpGetVersion(int* version) {
  const char* text = std::getenv("TILEWRIGHT_FAKE_CUBLASMP_VERSION");
  *version = text == nullptr ? 1000 : std::atoi(text);
  return note("cublasMpGetVersion");
}
int cublasMpCreate(void** handle, void* stream) {
  return make(note("cublasMpCreate"), Handle{stream}, handle);
}
int cublasMpDestroy(void* handle) { return unmake<Handle>("cublasMpDestroy", handle); }
int cublasMpSetStream(void* handle, void* stream) {
  static_cast<Handle*>(handle)->stream = stream;
  return note("cublasMpSetStream");
}
int cublasMpStreamSet(void* handle, void* stream) {
  static_cast<Handle*>(handle)->stream = stream;
  return note("cublasMpStreamSet");
}
int cublasMpGridCreate(std::int64_t rows, std::int64_t cols, int order, void* communicator, void** grid) {
  if (communicator == nullptr) return invalid_value;
  const std::string arguments =
      " " + std::to_string(rows) + "x" + std::to_string(cols) + (order == 1 ? " rows" : " cols");
  return make(note("cublasMpGridCreate", arguments), Grid{rows, cols}, grid);
}
int cublasMpGridDestroy(void* grid) { return unmake<Grid>("cublasMpGridDestroy", grid); }
int cublasMpMatrixDescriptorCreate(std::int64_t m, std::int64_t n, std::int64_t mb, std::int64_t nb,
                                   std::int64_t source_row, std::int64_t source_col, std::int64_t ld,
                                   int type, void* grid, void** descriptor) {
  const Descriptor made{m, n, mb, nb, source_row, source_col, ld, type, static_cast<const Grid*>(grid)};
  return make(note("cublasMpMatrixDescriptorCreate", text_of(made)), made, descriptor);
}
int cublasMpMatrixDescriptorDestroy(void* descriptor) {
  return unmake<Descriptor>("cublasMpMatrixDescriptorDestroy", descriptor);
}

int cublasMpGemm_bufferSize(void* handle, int, int, std::int64_t m, std::int64_t n, std::int64_t, const void*,
                            const void*, std::int64_t, std::int64_t, void*, const void*, std::int64_t,
                            std::int64_t, void*, const void*, void*, std::int64_t, std::int64_t, void*, int,
                            std::size_t* device_bytes, std::size_t* host_bytes) {
  if (handle == nullptr) return invalid_value;
  *device_bytes = std::size_t(m * n), *host_bytes = std::size_t(m + n);
  return note("cublasMpGemm_bufferSize");
}

int cublasMpGemm(void* handle, int op_a, int op_b, std::int64_t m, std::int64_t n, std::int64_t k,
                 const void* alpha, const void* a, std::int64_t ia, std::int64_t ja, void* da, const void* b,
                 std::int64_t ib, std::int64_t jb, void* db, const void* beta, void* c, std::int64_t ic,
                 std::int64_t jc, void* dc, int compute, void* device_work, std::size_t device_bytes,
                 void* host_work, std::size_t host_bytes) {
  if (std::min({ia, ja, ib, jb, ic, jc}) != 1 || std::max({ia, ja, ib, jb, ic, jc}) != 1)
    return invalid_value;
  if (device_bytes != std::size_t(m * n) || host_bytes != std::size_t(m + n)) return invalid_value;
  const Product p{op_a,
                  op_b,
                  m,
                  n,
                  k,
                  a,
                  b,
                  c,
                  *static_cast<Descriptor*>(da),
                  *static_cast<Descriptor*>(db),
                  *static_cast<Descriptor*>(dc)};
  const std::string sizes = std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
  const std::string operations = " " + std::to_string(op_a) + std::to_string(op_b) + " ";
  if (const int status = note("cublasMpGemm", operations + sizes + " " + std::to_string(compute));
      status != 0)
    return status;
  if (p.dc.grid->rows * p.dc.grid->cols != 1) return 0;
  const Handle& own = *static_cast<Handle*>(handle);
  const auto run = [&]<class T>(T) {
    return multiply<T>(own, p, alpha, beta, device_work, device_bytes, host_work, host_bytes);
  };
  // The codes are CUDA_R_32F and CUBLAS_COMPUTE_32F, and so on.
  if (p.dc.type == 0 && compute == 68) return run(float());
  if (p.dc.type == 1 && compute == 70) return run(double());
  if (p.dc.type == 4 && compute == 68) return run(std::complex<float>());
  if (p.dc.type == 5 && compute == 70) return run(std::complex<double>());
  return not_supported;
}

}  // extern "C"
