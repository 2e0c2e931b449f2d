// Loads and launches kernels of large GEMM, and copies their operands.
#include "kernel/gemm_large/loader.hpp"

#include <algorithm>
#include <type_traits>

#include "core/dispatch.hpp"
#include "kernel/gemm_large/list_config.hpp"

namespace tilewright {
namespace {

// Returns the operands from problem `first` of a batch on: its matrices, or its entries in arrays.
GemmLargeOperands operands_from(const GemmProblem& p, const GemmLargeOperands& all, std::int64_t first) {
  const bool addresses = p.layout == Layout::pointer || p.layout == Layout::variable;
  const auto on = [&]<class Pointer>(Pointer& array, std::int64_t bytes) {
    using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const char, char>;
    if (array != nullptr) array = reinterpret_cast<Pointer>(reinterpret_cast<Byte*>(array) + first * bytes);
  };
  const std::int64_t size = size_bytes(p.dtype);
  const auto matrices = [&](std::int64_t stride) {
    return addresses ? std::int64_t(sizeof(void*)) : stride * size;
  };
  GemmLargeOperands o = all;
  on(o.a, matrices(p.stride_a)), on(o.b, matrices(p.stride_b)), on(o.c, matrices(p.stride_c));
  on(o.alphas, size), on(o.betas, size);
  for (const std::int64_t** sizes :
       {&o.sizes.m, &o.sizes.n, &o.sizes.k, &o.sizes.lda, &o.sizes.ldb, &o.sizes.ldc})
    on(*sizes, sizeof(std::int64_t));
  on(o.info, o.info_step * std::int64_t(sizeof(int)));
  return o;
}

}  // namespace

GemmLargeKernel::GemmLargeKernel(const Gpu& gpu, const JitBinary& binary, const GemmLargeShape& shape,
                                 const GemmLargeConfig& config, DType dtype)
    : gpu_(&gpu),
      shape_(shape),
      config_(config),
      dtype_(dtype),
      shared_bytes_(gemm_large_memory(gemm_large_kernel_shape(shape, config), config, int(size_bytes(dtype)))
                        .total_bytes),
      module_(gpu, binary.code) {
  const std::vector<GemmLargeInstance> instances = gemm_large_instances(shape, config);
  const int most_shared_bytes =
      config.dependent_launch ? gemm_large_apart_bytes(1, shared_bytes_, gpu.limits()) : shared_bytes_;
  for (std::size_t i = 0; i < instances.size(); ++i) {
    Instance one{instances[i], module_.function(binary.functions.at(i), most_shared_bytes, config.carveout)};
    one.resident = one.function.blocks_per_multiprocessor(gemm_large_threads(config), shared_bytes_);
    if (one.resident == 0)
      throw Error(
          ErrorCode::unsupported, "config",
          fmt::format("{}: no block fits a multiprocessor of {}", describe(config), gpu.limits().name));
    functions_.push_back(std::move(one));
  }
  if (gemm_large_copies(config)) pad_ = module_.function(binary.functions.at(instances.size()), 0);
}

GemmLargeLaunch GemmLargeKernel::part_needs(const GemmProblem& part, const Instance& instance) const {
  return gemm_large_launch(part, instance.what.shape, instance.what.config, gpu_->limits(),
                           instance.resident);
}

GemmLargeLaunch GemmLargeKernel::needs(const GemmProblem& problem) const {
  GemmLargeLaunch all = part_needs(problem, functions_.front());
  for (const GemmLargePart& part : gemm_large_parts(problem, config_)) {
    const GemmLargeLaunch one = part_needs(gemm_large_part_problem(problem, part),
                                           functions_[gemm_large_instance_of(part.role, shape_)]);
    if (part.role != GemmLargeRole::rest) all.launch = one.launch;
    all.workspace_bytes = std::max(all.workspace_bytes, one.workspace_bytes);
    all.counter_count = std::max(all.counter_count, one.counter_count);
  }
  all.workspace_bytes += gemm_large_padding(problem, shape_, config_).bytes();
  return all;
}

// Encodes the map of all columns, or the maps of the even and the odd ones.
void GemmLargeKernel::encode_maps(const GemmProblem& p, const void* address, GemmLargeSide side,
                                  GemmLargeMap& map, GemmLargeMap& odd) const {
  const GemmLargeShape& shape = functions_.front().what.shape;
  encode_tensor_map(*gpu_, gemm_large_tensor(p, shape, config_, side, address, 0), &map);
  if (gemm_large_maps(config_, side == GemmLargeSide::a ? shape.align_a : shape.align_b) > 1)
    encode_tensor_map(*gpu_, gemm_large_tensor(p, shape, config_, side, address, 1), &odd);
}

void GemmLargeKernel::pad(const GemmProblem& p, const GemmLargePadding& padding, GemmLargeOperands& o,
                          CUstream_st* stream) const {
  char *const to_a = static_cast<char*>(o.workspace), *const to_b = to_a + padding.a_bytes;
  GemmLargePadArgs<void> args{};  // pointers have one layout, whatever their type
  if (padding.a_bytes > 0) {
    args.a = {
        o.a, to_a, p.lda, p.a_rows(), p.a_cols(), padding.inner_a, padding.outer_a, padding.transposes_a};
    o.a = to_a;
  }
  if (padding.b_bytes > 0) {
    args.b = {
        o.b, to_b, p.ldb, p.b_rows(), p.b_cols(), padding.inner_b, padding.outer_b, padding.transposes_b};
    o.b = to_b;
  }
  const GpuLimits& limits = gpu_->limits();
  args.blocks_a = gemm_large_pad_blocks(padding.a_bytes, padding.transposes_a, limits);
  GpuLaunch launch;
  launch.threads = gemm_large_pad_threads;
  launch.blocks =
      unsigned(args.blocks_a + gemm_large_pad_blocks(padding.b_bytes, padding.transposes_b, limits));
  launch.dependent = config_.dependent_launch;
  pad_->launch(launch, &args, stream);
  o.workspace = to_a + padding.bytes();
}

template <class T>
void GemmLargeKernel::launch_part(const GemmProblem& whole, const GemmLargePart& part,
                                  const GemmLargeOperands& o, CUstream_st* stream) const {
  const Instance& instance = functions_[gemm_large_instance_of(part.role, shape_)];
  const GemmProblem p = gemm_large_part_problem(whole, part);
  const auto place = [&](bool along_k, std::int64_t ld, std::int64_t x, std::int64_t k) {
    if (p.k == 0) return std::int64_t(0);  // nothing is read, and the operand may not exist
    return along_k ? k + x * ld : x + k * ld;
  };
  GemmLargeArgs<T> args{};
  args.a = static_cast<const T*>(o.a) + place(instance.what.shape.trans_a, p.lda, part.row, part.depth);
  args.b = static_cast<const T*>(o.b) + place(!instance.what.shape.trans_b, p.ldb, part.column, part.depth);
  args.c = static_cast<T*>(o.c) + part.row + part.column * p.ldc;
  if (config_.load == GemmLargeLoad::tensor && p.k > 0) {
    encode_maps(p, args.a, GemmLargeSide::a, args.map_a, args.odd_a);
    encode_maps(p, args.b, GemmLargeSide::b, args.map_b, args.odd_b);
  }
  args.lda = p.lda;
  args.ldb = p.ldb;
  args.ldc = p.ldc;
  args.m = p.m;
  args.n = p.n;
  args.k = p.k;
  args.alpha = *static_cast<const T*>(o.alpha);
  args.beta = part.role == GemmLargeRole::adding ? T(1)
              : o.beta == nullptr                ? T(0)
                                                 : *static_cast<const T*>(o.beta);
  args.workspace = o.workspace;
  args.counters = static_cast<unsigned*>(o.counters);
  args.stride_a = p.stride_a;
  args.stride_b = p.stride_b;
  args.stride_c = p.stride_c;
  args.problems = int(gemm_large_problems(p, shape_));
  instance.function.launch(part_needs(p, instance).launch, &args, stream);
}

void GemmLargeKernel::launch(const GemmProblem& problem, const GemmLargeOperands& operands,
                             CUstream_st* stream) const {
  const Gpu::Current current(*gpu_);  // the driver needs it for encoding maps
  const std::int64_t at_once = gemm_large_problems_at_once(problem, shape_, config_);
  if (problem.batch_count <= at_once) return launch_at_once(problem, operands, stream);
  GemmProblem part = problem;
  for (std::int64_t q = 0; q < problem.batch_count; q += at_once) {
    part.batch_count = std::min(at_once, problem.batch_count - q);
    launch_at_once(part, operands_from(problem, operands, q), stream);
  }
}

template <class T>
void GemmLargeKernel::launch_list(const GemmProblem& p, const GemmLargeOperands& o,
                                  CUstream_st* stream) const {
  const auto value = [](const void* of_all) {
    return of_all == nullptr ? T(0) : *static_cast<const T*>(of_all);
  };
  const auto sizes = [](const std::int64_t* array) { return reinterpret_cast<const long long*>(array); };
  GemmLargeListArgs<T> args{};
  args.alpha = value(o.alpha), args.beta = value(o.beta);
  args.a = static_cast<const T*>(o.a), args.b = static_cast<const T*>(o.b), args.c = static_cast<T*>(o.c);
  args.alphas = static_cast<const T*>(o.alphas), args.betas = static_cast<const T*>(o.betas);
  args.sizes_m = sizes(o.sizes.m), args.sizes_n = sizes(o.sizes.n), args.sizes_k = sizes(o.sizes.k);
  args.sizes_lda = sizes(o.sizes.lda), args.sizes_ldb = sizes(o.sizes.ldb);
  args.sizes_ldc = sizes(o.sizes.ldc);
  args.m = p.m, args.n = p.n, args.k = p.k;
  args.lda = p.lda, args.ldb = p.ldb, args.ldc = p.ldc;
  args.stride_a = p.stride_a, args.stride_b = p.stride_b, args.stride_c = p.stride_c;
  args.info = o.info, args.info_step = o.info_step;
  args.problems = int(p.batch_count);
  args.addresses = p.layout == Layout::pointer || p.layout == Layout::variable;
  const Instance& instance = functions_.front();
  instance.function.launch(part_needs(p, instance).launch, &args, stream);
}

void GemmLargeKernel::launch_at_once(const GemmProblem& problem, const GemmLargeOperands& operands,
                                     CUstream_st* stream) const {
  dispatch(dtype_, [&]<class T>() {
    if (shape_.batch == GemmLargeBatch::listed) return launch_list<T>(problem, operands, stream);
    GemmProblem p = problem;
    GemmLargeOperands o = operands;
    if (*static_cast<const T*>(o.alpha) == T(0)) p.k = 0;
    if (const GemmLargePadding padding = gemm_large_padding(p, shape_, config_); padding.bytes() > 0) {
      pad(p, padding, o, stream);
      p = gemm_large_padded(p, config_, padding);
    }
    // There is nearly always one part, so the call avoids the cost of a list.
    if (config_.boundary != GemmLargeBoundary::residue_kernel)
      return launch_part<T>(p, {.m = p.m, .n = p.n, .k = p.k}, o, stream);
    for (const GemmLargePart& part : gemm_large_parts(p, config_)) launch_part<T>(p, part, o, stream);
  });
}

StencilRequest gemm_large_request(const GemmLargeShape& shape, const GemmLargeConfig& config, DType dtype,
                                  int compute_capability) {
  std::vector<std::string> expressions;
  for (const GemmLargeInstance& one : gemm_large_instances(shape, config))
    expressions.push_back(gemm_large_expression(one.shape, one.config, dtype));
  if (gemm_large_copies(config))
    expressions.push_back(
        fmt::format("tilewright::gpu_pad_operands<{}, {}>", device_type(dtype), config.dependent_launch));
  // The device checks that it derives the same memory.
  const GemmLargeShape seen = gemm_large_kernel_shape(shape, config);
  const std::string assertion = fmt::format(
      "tilewright::gemm_large_memory({}, {}, sizeof({})).total_bytes == {}",
      designated("tilewright::GemmLargeShape", seen), designated("tilewright::GemmLargeConfig", config),
      device_type(dtype), gemm_large_memory(seen, config, int(size_bytes(dtype))).total_bytes);
  return {
      shape.batch == GemmLargeBatch::listed ? "kernel/gemm_large/list.cuh" : "kernel/gemm_large/stencil.cuh",
      std::move(expressions),
      assertion,
      compute_capability,
      config.cluster > 1,
      config.ptxas_level};
}

std::string gemm_large_refusal(const JitBinary& binary, const GemmLargeConfig& config,
                               const GpuLimits& limits) {
  const StencilReport report = stencil_report(binary.log);
  if (report.spill_bytes > 0)
    return fmt::format("{} registers do not suffice: {} bytes are spilled", report.registers,
                       report.spill_bytes);
  if (report.stack_bytes > 0) return fmt::format("{} bytes of stack are used", report.stack_bytes);
  const int blocks = std::max(1, config.blocks_per_sm), threads = gemm_large_threads(config);
  constexpr int granularity = 8;  // granularity in which a thread's registers are allocated
  const int budget = limits.registers_per_multiprocessor / (blocks * threads) / granularity * granularity;
  if (report.registers > budget)
    return fmt::format("{} registers of each thread exceed the {} that {} blocks of {} threads leave",
                       report.registers, budget, blocks, threads);
  return "";
}

void GemmLargeScratch::provide(const GemmLargeKernel& kernel, const GemmProblem& problem,
                               GemmLargeOperands& o) {
  const GemmLargeLaunch needs = kernel.needs(problem);
  grow(sums_, needs.workspace_bytes);
  grow(counters_, needs.counter_count * std::int64_t(sizeof(unsigned)));
  o.workspace = sums_->as<void>();
  o.counters = counters_->as<void>();
}

// Counters are zero before every launch: the last block of each tile resets its own.
void GemmLargeScratch::grow(std::optional<GpuBuffer>& held, std::int64_t bytes) const {
  constexpr std::int64_t least_bytes = 1 << 20;
  if (held && held->bytes() >= std::size_t(bytes)) return;
  gpu_.synchronize();
  held.reset();
  held.emplace(gpu_, std::size_t(std::max(bytes, least_bytes)));
  held->fill(0, nullptr);
  gpu_.synchronize();
}

}  // namespace tilewright
