// The C++ interface: operands in device memory, at addresses where nothing is. Without a GPU every call is
// refused; these lines say which faults are named before a GPU is looked for.
#include <array>

#include "golden/cpp_calls.hpp"
#include "golden/stack_fields.hpp"
#include "tilewright/device_layout.hpp"

namespace tilewright::golden {
namespace {

constexpr Location device = Location::device;

template <class T>
T* place(std::uintptr_t number) {
  return reinterpret_cast<T*>(number << 20);
}

struct DeviceCall {
  Op op_a = Op::none, op_b = Op::none;
  GemmOptions options;
  std::vector<int> codes = std::vector<int>(16, 99);
  BatchInfo info;
  std::vector<Area> areas() const { return {output("codes", codes)}; }
};

struct DeviceSingle : DeviceCall {
  MatrixView<const double, device> view_a{place<const double>(1), m, k, m},
      view_b{place<const double>(2), k, n, k};
  MatrixView<double, device> view_c{place<double>(3), m, n, m};
  void call() { gemm<double, device>(context(), op_a, op_b, 1.0, view_a, view_b, 0.0, view_c, options); }
};

struct DeviceStrided : DeviceCall {
  StridedBatch<const double, device> view_a{{place<const double>(1), m, k, m}, m*k, batch},
      view_b{{place<const double>(2), k, n, k}, k*n, batch};
  StridedBatch<double, device> view_c{{place<double>(3), m, n, m}, m* n, batch};
  void call() {
    gemm_batched<double, device>(context(), op_a, op_b, 1.0, view_a, view_b, 0.0, view_c, options, info);
  }
};

struct DevicePointers : DeviceCall {
  PointerBatch<const double, device> view_a{place<const double*const>(1), m, k, m, batch},
      view_b{place<const double*const>(2), k, n, k, batch};
  PointerBatch<double, device> view_c{place<double* const>(3), m, n, m, batch};
  void call() {
    gemm_batched<double, device>(context(), op_a, op_b, 1.0, view_a, view_b, 0.0, view_c, options, info);
  }
};

struct DeviceInterleaved : DeviceCall {
  InterleavedBatch<const double, device> view_a{place<const double>(1), m, k, m, 2, batch},
      view_b{place<const double>(2), k, n, k, 2, batch};
  InterleavedBatch<double, device> view_c{place<double>(3), m, n, m, 2, batch};
  void call() {
    gemm_batched<double, device>(context(), op_a, op_b, 1.0, view_a, view_b, 0.0, view_c, options, info);
  }
};

struct DeviceReduceStrided : DeviceCall {
  StridedBatch<const double, device> view_a{{place<const double>(1), m, k, m}, m*k, batch},
      view_b{{place<const double>(2), k, n, k}, k*n, batch};
  MatrixView<double, device> view_c{place<double>(3), m, n, m};
  void call() {
    gemm_batch_reduce<double, device>(context(), op_a, op_b, 1.0, view_a, view_b, 0.0, view_c, options);
  }
};

struct DeviceGrouped : DeviceCall {
  std::array<GemmGroup<double, device>, 2> groups{group(), group()};
  GemmGroup<double, device>& spoiled() { return groups[1]; }
  void call() {
    gemm_grouped<double, device>(context(), std::span<const GemmGroup<double, device>>(groups), options,
                                 info);
  }

 private:
  static GemmGroup<double, device> group() {
    return {.m = m,
            .n = n,
            .k = k,
            .a = place<const double* const>(1),
            .lda = m,
            .b = place<const double* const>(2),
            .ldb = k,
            .c = place<double* const>(3),
            .ldc = m,
            .count = 2};
  }
};

struct DeviceVariable : DeviceCall {
  VariableBatch<double> items;
  DeviceVariable() {
    items.max_m = m, items.max_n = n, items.max_k = k;
    std::uintptr_t number = 1;
    for (const std::int64_t** array : {&items.m, &items.n, &items.k, &items.lda, &items.ldb, &items.ldc})
      *array = place<const std::int64_t>(number++);
    items.a = place<const double* const>(number++), items.b = place<const double* const>(number++);
    items.c = place<double* const>(number);
    items.count = batch;
  }
  void call() { gemm_variable<double>(context(), items, options, info); }
};

struct DeviceStack : DeviceCall {
  using Fields = testing::StackFields<double, device>;
  std::array<StackOffsets, 2> offsets{{{0, 0, 0}, {12, 8, 6}}};
  std::array<Fields, 2> stacks{stack(), stack()};
  // The first: its plan is sought before the next is looked at.
  Fields& spoiled() { return stacks[0]; }
  void call() {
    gemm_stack<double, device>(context(), testing::made(std::span<const Fields>(stacks)), 1.0, options);
  }

 private:
  static Fields stack() {
    return {.m = m,
            .n = n,
            .k = k,
            .a = place<const double>(1),
            .lda = m,
            .b = place<const double>(2),
            .ldb = k,
            .c = place<double>(3),
            .ldc = m,
            .offsets = place<const StackOffsets>(4),
            .count = 2};
  }
};
// Its lists lie on the host and are read.
struct PlanOfStacks : DeviceStack {
  Location lists = Location::host;
  PlanOfStacks() {
    for (auto& stack : stacks) stack.offsets = offsets.data();
  }
  void call() {
    (void)plan_stacks<double>(context(), testing::made(std::span<const Fields>(stacks)), lists, options);
  }
};

struct DeviceInterleave : DeviceCall {
  StridedBatch<const double, device> from{{place<const double>(1), m, k, m}, m* k, batch};
  InterleavedBatch<double, device> to{place<double>(2), m, k, m, 2, batch};
  void call() { interleave<double>(context(), from, to, options); }
};

template <class X>
void tell_views(const char* call) {
  const Battery<X> t(call);
  spoil_shape(t);
  t.run("a.data=c.data",
        [](X& x) { x.view_a.data = reinterpret_cast<decltype(x.view_a.data)>(x.view_c.data); });
  t.run("a.data=0x100001",
        [](X& x) { x.view_a.data = reinterpret_cast<decltype(x.view_a.data)>(std::uintptr_t(0x100001)); });
}

// Of the options those that calls in device memory see differently.
template <class X>
void spoil_few_options(const Battery<X>& t) {
  t.run("target=hybrid", [](X& x) { x.options.target = Target::hybrid; });
  t.run("objective=7", [](X& x) { x.options.objective = static_cast<Objective>(7); });
  t.run("threads=-1", [](X& x) { x.options.threads = -1; });
  t.run("candidate=x", [](X& x) { x.options.candidate = "x"; });
  t.run("device=-1", [](X& x) { x.options.queue.device = -1; });
  t.run("align_bytes=3", [](X& x) { x.options.align_bytes = 3; });
}

template <class X>
void spoil_device_group(const Battery<X>& t) {
  t.no_enumerator("op_a", AT(x.spoiled().op_a));
  t.numbers("m", 0, AT(x.spoiled().m));
  t.numbers("n", 0, AT(x.spoiled().n));
  t.numbers("k", 0, AT(x.spoiled().k));
  t.numbers("lda", m, AT(x.spoiled().lda));
  t.numbers("ldb", k, AT(x.spoiled().ldb));
  t.numbers("ldc", m, AT(x.spoiled().ldc));
  t.numbers("count", 0, AT(x.spoiled().count));
  t.null("a", AT(x.spoiled().a));
  t.null("b", AT(x.spoiled().b));
  t.null("c", AT(x.spoiled().c));
  spoil_few_options(t);
}

void tell_device_groups() {
  const Battery<DeviceGrouped> g("gemm_grouped(device)");
  spoil_device_group(g);
  spoil_info(g);
  const Battery<DeviceVariable> v("gemm_variable(device)");
  v.no_enumerator("op_a", AT(x.items.op_a));
  v.no_enumerator("op_b", AT(x.items.op_b));
  v.numbers("max_m", 0, AT(x.items.max_m));
  v.numbers("max_n", 0, AT(x.items.max_n));
  v.numbers("max_k", 0, AT(x.items.max_k));
  v.run("max_m=513", [](DeviceVariable& x) { x.items.max_m = 513; });
  v.numbers("count", 0, AT(x.items.count));
  v.null("m", AT(x.items.m));
  v.null("n", AT(x.items.n));
  v.null("k", AT(x.items.k));
  v.null("a", AT(x.items.a));
  v.null("lda", AT(x.items.lda));
  v.null("b", AT(x.items.b));
  v.null("ldb", AT(x.items.ldb));
  v.null("c", AT(x.items.c));
  v.null("ldc", AT(x.items.ldc));
  spoil_info(v);
  spoil_few_options(v);
}

void tell_device_stacks() {
  const Battery<DeviceStack> t("gemm_stack(device)");
  spoil_device_group(t);
  t.null("offsets", AT(x.spoiled().offsets));
  t.run("a=c", [](DeviceStack& x) { x.spoiled().a = x.spoiled().c; });
  const Battery<PlanOfStacks> p("plan_stacks");
  spoil_device_group(p);
  p.no_enumerator("lists", AT(x.lists));
  p.null("offsets", AT(x.spoiled().offsets));
  p.numbers("offsets[1].a", 0, AT(x.offsets[1].a));
  p.numbers("offsets[1].c", 0, AT(x.offsets[1].c));
}

void tell_device_layouts() {
  const Battery<DeviceInterleave> t("interleave(device)");
  t.numbers("from.rows", m, AT(x.from.rows));
  t.numbers("from.ld", m, AT(x.from.ld));
  t.numbers("from.count", batch, AT(x.from.count));
  t.numbers("to.block", 1, AT(x.to.block));
  t.null("from.data", AT(x.from.data));
  t.null("to.data", AT(x.to.data));
  t.run("device=-1", [](DeviceInterleave& x) { x.options.queue.device = -1; });
  t.run("threads=-1", [](DeviceInterleave& x) { x.options.threads = -1; });
  tell_of("prepare_layout", "rows=-1", [] { prepare_layout(context(), DType::f64, -1, 1); });
  tell_of("prepare_layout", "cols=-1", [] { prepare_layout(context(), DType::f64, 1, -1); });
  tell_of("prepare_layout", "dtype=7", [] { prepare_layout(context(), static_cast<DType>(7), 1, 1); });
  tell_of("prepare_layout", "device=-1",
          [] { prepare_layout(context(), DType::f64, 1, 1, {.queue = {.device = -1}}); });
}

}  // namespace

void tell_device() {
  tell_views<DeviceSingle>("gemm(device)");
  tell_views<DeviceStrided>("gemm_batched(strided, device)");
  tell_views<DevicePointers>("gemm_batched(pointer, device)");
  tell_views<DeviceInterleaved>("gemm_batched(interleaved, device)");
  tell_views<DeviceReduceStrided>("gemm_batch_reduce(device)");
  spoil_options(Battery<DeviceSingle>("gemm(device, options)"), spoiled_gemm_options());
  spoil_info(Battery<DeviceStrided>("gemm_batched(device, info)"));
  tell_device_groups();
  tell_device_stacks();
  tell_device_layouts();
}

}  // namespace tilewright::golden
