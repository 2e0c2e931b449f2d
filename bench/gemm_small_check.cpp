// The device's side of the check: operands, addresses and sizes to the device, C and codes back.
#include "gemm_small_check.hpp"

#include "gemm_small_device.hpp"

namespace tilewright::bench {
namespace {

template <class T>
CheckResult check_typed(const Gpu& gpu, const SmallCase& one, const GemmSmallKernel& kernel) {
  const GemmSmallConfig& c = kernel.config();
  constexpr unsigned blocks = 2;  // so that each walks over several tiles
  const std::int64_t tiles = std::int64_t(blocks) * (c.persistent ? c.stages + 2 : 1) + 1;
  const std::int64_t count = tiles * c.matrices_per_block -
                             (c.matrices_per_block > 1 ? c.matrices_per_block / 2 : 0) -
                             (c.matrices_per_block > 2 ? 1 : 0);
  std::mt19937 random(12345);
  const SmallBatch batch(one, count, random);
  const SmallData<T> data(batch, random);
  GpuBuffer operands[3] = {device_copy(gpu, data.values(0)), device_copy(gpu, data.values(1)),
                           device_copy(gpu, data.values(2))};
  const auto base = [&](int operand) { return operands[operand].as<T>() + data.base(); };
  const GpuBuffer alphas = device_copy(gpu, data.alphas()), betas = device_copy(gpu, data.betas());
  DeviceArrays arrays(gpu, batch);
  arrays.set_addresses(0, data.addresses(0, base(0)));
  arrays.set_addresses(1, data.addresses(1, base(1)));
  arrays.set_addresses(2, data.addresses(2, base(2)));
  if (batch.sizes_vary())
    for (int i = 0; i < 6; ++i) arrays.set_sizes(i, data.sizes(i));
  GemmSmallOperands o = arrays.operands(base(0), base(1), base(2));
  o.alpha = data.alphas().data();
  o.beta = data.betas().data();
  o.alphas = alphas.as<void>();
  o.betas = betas.as<void>();
  GpuBuffer codes = device_copy(gpu, std::vector<int>(static_cast<std::size_t>(count)));
  if (batch.by_pointer()) o.info = codes.as<int>();
  kernel.launch(o, nullptr, c.persistent ? blocks : 0);
  gpu.synchronize();
  std::vector<T> out(data.values(2).size());
  operands[2].read(out.data(), out.size() * sizeof(T));
  std::vector<int> info(batch.by_pointer() ? static_cast<std::size_t>(count) : 0);
  if (!info.empty()) codes.read(info.data(), info.size() * sizeof(int));
  return data.compare(out, info);
}

}  // namespace

int alignment_of(const SmallCase& one) {
  const int bytes = one.shift * static_cast<int>(size_bytes(one.problem.dtype));
  return bytes == 0 ? 128 : std::min(128, bytes & -bytes);
}

CheckResult check_small(const Gpu& gpu, const SmallCase& one, const GemmSmallKernel& kernel) {
  return dispatch(one.problem.dtype, [&]<class T>() { return check_typed<T>(gpu, one, kernel); });
}

}  // namespace tilewright::bench
