// The C++ interface: batches and stacks whose products are summed into one C, in host memory.
#include <array>

#include "golden/cpp_calls.hpp"
#include "golden/stack_fields.hpp"

namespace tilewright::golden {
namespace {

using testing::made;
using testing::StackFields;

struct ReduceStrided : Call {
  StridedBatch<const double> view_a{{a.data(), m, k, m}, m*k, batch}, view_b{{b.data(), k, n, k}, k*n, batch};
  MatrixView<double> view_c{c.data(), m, n, m};
  void call() { gemm_batch_reduce<double>(context(), op_a, op_b, 1.0, view_a, view_b, 0.0, view_c, options); }
};

struct ReducePointers : Call {
  PointerBatch<const double> view_a{a_pointers, m, k, m, batch}, view_b{b_pointers, k, n, k, batch};
  MatrixView<double> view_c{c.data(), m, n, m};
  void call() { gemm_batch_reduce<double>(context(), op_a, op_b, 1.0, view_a, view_b, 0.0, view_c, options); }
};

// Two stacks that name different C.
struct Stacks : Call {
  std::array<StackOffsets, 2> first_offsets{{{0, 0, 0}, {12, 8, 0}}}, offsets{{{0, 0, 6}, {12, 8, 12}}};
  std::array<StackPointers<double>, 2> pointers{{{&a[0], &b[0], &c[6]}, {&a[12], &b[8], &c[12]}}};
  std::array<StackFields<double>, 2> stacks{stack(first_offsets), stack(offsets)};
  StackFields<double>& second() { return stacks[1]; }
  void call() {
    gemm_stack<double>(context(), made(std::span<const StackFields<double>>(stacks)), 1.0, options);
  }

 private:
  StackFields<double> stack(const std::array<StackOffsets, 2>& list) {
    return {.m = m,
            .n = n,
            .k = k,
            .a = a.data(),
            .lda = m,
            .b = b.data(),
            .ldb = k,
            .c = c.data(),
            .ldc = m,
            .offsets = list.data(),
            .count = 2};
  }
};

struct PointerStacks : Stacks {
  PointerStacks() {
    second().offsets = nullptr, second().pointers = pointers.data();
    second().a = second().b = second().c = nullptr;
  }
};

// One stack: no number of a stack is told.
struct OneStack : Stacks {
  void call() {
    gemm_stack<double>(context(), made(std::span<const StackFields<double>>(&second(), 1)), 1.0, options);
  }
};

template <class X>
void spoil_counts(const Battery<X>& t) {
  spoil_together(t, "count", [](X& x, std::int64_t value) { x.view_a.count = x.view_b.count = value; });
  spoil_empty(t, "count=0", [](X& x) { x.view_a.count = x.view_b.count = 0; });
  spoil_empty(t, "m=0", [](X& x) { x.view_a.rows = x.view_c.rows = 0; });
}

void tell_reduce() {
  const Battery<ReduceStrided> t("gemm_batch_reduce(strided)");
  spoil_shape(t);
  spoil_counts(t);
  for (const char* field : {"outer_count", "outermost_count"})
    for (const std::int64_t value : {std::int64_t(-1), std::int64_t(0), std::int64_t(2)})
      t.run(std::string("a.") + field + "=" + std::to_string(value), [&](ReduceStrided& x) {
        (field == std::string("outer_count") ? x.view_a.outer_count : x.view_a.outermost_count) = value;
      });
  t.run("b.outer_count=2", [](ReduceStrided& x) { x.view_b.outer_count = 2; });
  t.run("a.data=c.data", [](ReduceStrided& x) { x.view_a.data = x.c.data(); });
  t.run("b.data=c.data", [](ReduceStrided& x) { x.view_b.data = x.c.data(); });
  spoil_options(t, spoiled_gemm_options());
}

void tell_reduce_pointers() {
  const Battery<ReducePointers> t("gemm_batch_reduce(pointer)");
  spoil_shape(t);
  spoil_counts(t);
  t.run("a.data[1]=null", [](ReducePointers& x) { x.a_pointers[1] = nullptr; });
  t.run("b.data[2]=null", [](ReducePointers& x) { x.b_pointers[2] = nullptr; });
  t.run("a.data[1]=c.data", [](ReducePointers& x) { x.a_pointers[1] = x.c.data(); });
  t.run("b.data[2]=c.data", [](ReducePointers& x) { x.b_pointers[2] = x.c.data(); });
  spoil_options(t, spoiled_gemm_options());
}

template <class X>
void spoil_offsets(const Battery<X>& t) {
  t.null("a", AT(x.second().a));
  t.null("b", AT(x.second().b));
  t.null("c", AT(x.second().c));
  t.null("offsets", AT(x.second().offsets));
  t.numbers("offsets[1].a", 0, AT(x.offsets[1].a));
  t.numbers("offsets[1].b", 0, AT(x.offsets[1].b));
  t.numbers("offsets[1].c", 0, AT(x.offsets[1].c));
  t.run("a=c", [](X& x) { x.second().a = x.c.data() + 6; });
  t.run("b=c", [](X& x) { x.second().b = x.c.data() + 4; });
}

void tell_stacks() {
  const Battery<Stacks> t("gemm_stack(offsets)");
  spoil_second_shape(t);
  t.numbers("count", 0, AT(x.second().count));
  spoil_offsets(t);
  t.run("n=1,offsets[1].c=0", [](Stacks& x) { x.second().n = 1, x.offsets[1].c = 0; });
  t.run("ldc=4,offsets[1].c=0", [](Stacks& x) { x.second().ldc = 4, x.offsets[1].c = 0; });
  t.run("checked,offsets[1].c=1", [](Stacks& x) { x.options.checked = true, x.offsets[1].c = 1; });
  spoil_empty(t, "all counts=0", [](Stacks& x) { x.stacks[0].count = x.second().count = 0; });
  spoil_options(t, spoiled_gemm_options());

  const Battery<PointerStacks> p("gemm_stack(pointers)");
  spoil_second_shape(p);
  p.numbers("count", 0, AT(x.second().count));
  p.null("pointers", AT(x.second().pointers));
  p.null("pointers[1].a", AT(x.pointers[1].a));
  p.null("pointers[1].b", AT(x.pointers[1].b));
  p.null("pointers[1].c", AT(x.pointers[1].c));
  p.run("pointers[1].a=c", [](PointerStacks& x) { x.pointers[1].a = x.pointers[1].c; });
  p.run("pointers[1].b=c", [](PointerStacks& x) { x.pointers[1].b = x.pointers[1].c; });
  p.run("checked,pointers[1].c=c+1",
        [](PointerStacks& x) { x.options.checked = true, x.pointers[1].c = x.c.data() + 1; });

  const Battery<OneStack> one("gemm_stack(one)");
  spoil_offsets(one);
}

}  // namespace

void tell_sums() {
  tell_reduce();
  tell_reduce_pointers();
  tell_stacks();
}

}  // namespace tilewright::golden
