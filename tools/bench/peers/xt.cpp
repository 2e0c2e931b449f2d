// Calls the functions by their published signatures.
#include "xt.hpp"

#include <fmt/format.h>

#include <cstddef>

#include "cblas_library.hpp"

namespace tilewright::peers {
namespace {

constexpr int none_status = 0;

int vendor_op(Op op) { return op == Op::none ? 0 : op == Op::trans ? 1 : 2; }

}  // namespace

struct CublasXt::Api {
  using Handle = void*;
  using Gemm = int (*)(Handle, int, int, std::size_t, std::size_t, std::size_t, const void*, const void*,
                       std::size_t, const void*, std::size_t, const void*, void*, std::size_t);

  Library library = Library::open({"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"});
  Handle handle = nullptr;
  int (*create)(Handle*) = nullptr;
  int (*destroy)(Handle) = nullptr;
  int (*select)(Handle, int, int*) = nullptr;
  int (*set_block)(Handle, int) = nullptr;
  int (*set_routine)(Handle, int, int, void*) = nullptr;
  int (*set_ratio)(Handle, int, int, float) = nullptr;
  int (*get_property)(int, int*) = nullptr;
  Gemm gemm[4] = {};

  static void expect(int status, const char* call) {
    if (status != none_status)
      throw Error(ErrorCode::unsupported, "cublasxt", fmt::format("{} fails with status {}", call, status));
  }
  template <class F>
  void load(F& function, const char* name) {
    function = library.symbol<F>(name);
    if (function == nullptr)
      throw Error(ErrorCode::unsupported, "cublasxt", fmt::format("{} has no {}", library.path(), name));
  }
};

CublasXt::CublasXt(const std::vector<int>& devices) : api_(std::make_unique<Api>()) {
  Api& api = *api_;
  if (!api.library) throw Error(ErrorCode::unsupported, "cublasxt", api.library.error());
  api.load(api.create, "cublasXtCreate");
  api.load(api.destroy, "cublasXtDestroy");
  api.load(api.select, "cublasXtDeviceSelect");
  api.load(api.set_block, "cublasXtSetBlockDim");
  api.load(api.set_routine, "cublasXtSetCpuRoutine");
  api.load(api.set_ratio, "cublasXtSetCpuRatio");
  api.load(api.get_property, "cublasGetProperty");
  constexpr const char* names[] = {"cublasXtSgemm", "cublasXtDgemm", "cublasXtCgemm", "cublasXtZgemm"};
  for (int i = 0; i < 4; ++i) api.load(api.gemm[i], names[i]);
  Api::expect(api.create(&api.handle), "cublasXtCreate");
  std::vector<int> chosen = devices;
  Api::expect(api.select(api.handle, int(chosen.size()), chosen.data()), "cublasXtDeviceSelect");
}

CublasXt::~CublasXt() {
  if (api_->handle != nullptr) api_->destroy(api_->handle);
}

void CublasXt::set_block(int block) {
  Api::expect(api_->set_block(api_->handle, block), "cublasXtSetBlockDim");
}

void CublasXt::set_cpu_ratio(DType dtype, void* gemm, float ratio) {
  constexpr int gemm_operation = 0;
  const int type = int(dtype);
  Api::expect(api_->set_routine(api_->handle, gemm_operation, type, gemm), "cublasXtSetCpuRoutine");
  Api::expect(api_->set_ratio(api_->handle, gemm_operation, type, ratio), "cublasXtSetCpuRatio");
}

void CublasXt::multiply(const GemmProblem& p, const Operands& o) {
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  Api::expect(api_->gemm[int(p.dtype)](api_->handle, vendor_op(p.op_a), vendor_op(p.op_b), size(p.m),
                                       size(p.n), size(p.k), o.alpha, o.a, size(p.lda), o.b, size(p.ldb),
                                       o.beta, o.c, size(p.ldc)),
              "cublasXt gemm");
}

std::string CublasXt::version() const {
  int parts[3] = {};
  for (int i = 0; i < 3; ++i) api_->get_property(i, &parts[i]);
  return fmt::format("{}.{}.{}", parts[0], parts[1], parts[2]);
}

void* fortran_gemm(DType dtype) {
  static const Library library = Library::open({"libopenblas.so.0", "libopenblas.so", "libblas.so.3"});
  return library ? library.symbol<void*>(std::string(1, blas_letter(dtype)) + "gemm_") : nullptr;
}

}  // namespace tilewright::peers
