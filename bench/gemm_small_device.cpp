// Addresses and sizes of a batch, as a launch wants them.
#include "gemm_small_device.hpp"

namespace tilewright::bench {

void DeviceArrays::set_all(const char* a, const char* b, char* c, const std::vector<std::int64_t>& problems) {
  if (!batch_.by_pointer()) return;
  const char* const bases[] = {a, b, c};
  const auto element = static_cast<std::int64_t>(size_bytes(batch_.one().problem.dtype));
  std::vector<const char*> addresses(static_cast<std::size_t>(batch_.count()));
  for (int operand = 0; operand < 3; ++operand) {
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      const std::int64_t q = problems.empty() ? static_cast<std::int64_t>(i) : problems[i];
      addresses[i] = bases[operand] + batch_.matrix(operand, q).first * element;
    }
    set_addresses(operand, addresses);
  }
  if (batch_.sizes_vary())
    for (int i = 0; i < 6; ++i) set_sizes(i, batch_.sizes(i));
}

GemmSmallOperands DeviceArrays::operands(const void* a, const void* b, void* c) const {
  const GemmProblem& p = batch_.one().problem;
  GemmSmallOperands o;
  const bool pointers = batch_.by_pointer();
  o.a = pointers ? addresses_[0]->as<void>() : a;
  o.b = pointers ? addresses_[1]->as<void>() : b;
  o.c = pointers ? addresses_[2]->as<void>() : c;
  o.count = batch_.count();
  o.stride_a = p.block > 0 ? p.block : p.stride_a;
  o.stride_b = p.block > 0 ? p.block : p.stride_b;
  o.stride_c = p.block > 0 ? p.block : p.stride_c;
  o.lda = p.lda;
  o.ldb = p.ldb;
  o.ldc = p.ldc;
  if (batch_.sizes_vary())
    o.sizes = {sizes_[0]->as<std::int64_t>(), sizes_[1]->as<std::int64_t>(), sizes_[2]->as<std::int64_t>(),
               sizes_[3]->as<std::int64_t>(), sizes_[4]->as<std::int64_t>(), sizes_[5]->as<std::int64_t>()};
  return o;
}

}  // namespace tilewright::bench
