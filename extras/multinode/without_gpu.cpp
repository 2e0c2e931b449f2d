// In builds without GPU sources, distributed products and cyclic factorizations throw this error.
#include <cstdlib>

#include "core/dispatch.hpp"
#include "tilewright/multinode.hpp"

#if !TILEWRIGHT_HAS_GPU

namespace tilewright {
namespace {

constexpr const char* reason = "this build has no GPU runtime";

}  // namespace

struct DistributedGemm::Impl {};

std::string distributed_gemm_status() { return reason; }
DistributedGemm::DistributedGemm(void*, const ProcessGrid&) {
  throw Error(ErrorCode::unsupported, "cublasmp", reason);
}
DistributedGemm::~DistributedGemm() = default;
DistributedGemm::DistributedGemm(DistributedGemm&&) noexcept = default;
// Never called, since no object can be made.
std::int64_t DistributedGemm::row() const noexcept { std::abort(); }
std::int64_t DistributedGemm::col() const noexcept { std::abort(); }
int DistributedGemm::device() const noexcept { std::abort(); }
std::string DistributedGemm::library() const { return reason; }
template <class T>
void DistributedGemm::gemm(Op, Op, std::type_identity_t<T>,
                           const DistributedMatrix<const std::type_identity_t<T>>&,
                           const DistributedMatrix<const std::type_identity_t<T>>&, std::type_identity_t<T>,
                           const DistributedMatrix<T>&, CUstream_st*) {
  std::abort();
}

std::string why_not_cyclic(Context&, DType, std::int64_t, std::int64_t, std::int64_t, const LuTeam&,
                           const LuOptions&) {
  return reason;
}
template <class T>
LuReport lu_factor_cyclic(Context&, std::int64_t, std::int64_t, std::int64_t, T*, std::int64_t, std::int64_t*,
                          const LuTeam&, const LuOptions&) {
  throw Error(ErrorCode::unsupported, "device", reason);
}

#define TILEWRIGHT_INSTANTIATE(T)                                                                           \
  template LuReport lu_factor_cyclic(Context&, std::int64_t, std::int64_t, std::int64_t, T*, std::int64_t,  \
                                     std::int64_t*, const LuTeam&, const LuOptions&);                       \
  template void DistributedGemm::gemm<T>(Op, Op, T, const DistributedMatrix<const T>&,                      \
                                         const DistributedMatrix<const T>&, T, const DistributedMatrix<T>&, \
                                         CUstream_st*);
TILEWRIGHT_FOR_TYPES(TILEWRIGHT_INSTANTIATE)
#undef TILEWRIGHT_INSTANTIATE

}  // namespace tilewright

#endif
