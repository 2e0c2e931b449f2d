// The C++ interface: single products, batches in each layout, groups and variable batches in host memory.
#include <array>

#include "golden/cpp_calls.hpp"

namespace tilewright::golden {
namespace {

struct Single : Call {
  MatrixView<const double> view_a{a.data(), m, k, m}, view_b{b.data(), k, n, k};
  MatrixView<double> view_c{c.data(), m, n, m};
  void call() { gemm<double>(context(), op_a, op_b, 1.0, view_a, view_b, 0.0, view_c, options); }
};

struct Strided : BatchCall {
  StridedBatch<const double> view_a{{a.data(), m, k, m}, m*k, batch}, view_b{{b.data(), k, n, k}, k*n, batch};
  StridedBatch<double> view_c{{c.data(), m, n, m}, m* n, batch};
  void call() {
    gemm_batched<double>(context(), op_a, op_b, 1.0, view_a, view_b, 0.0, view_c, options, info);
  }
};

// Two parts of two parts of two problems.
struct Levels : Strided {
  Levels() {
    const auto nest = [](auto& view, std::int64_t elements) {
      view.count = view.outer_count = view.outermost_count = 2;
      view.outer_stride = 2 * elements, view.outermost_stride = 4 * elements;
    };
    nest(view_a, m * k), nest(view_b, k * n), nest(view_c, m * n);
  }
};

struct Pointers : BatchCall {
  PointerBatch<const double> view_a{a_pointers, m, k, m, batch}, view_b{b_pointers, k, n, k, batch};
  PointerBatch<double> view_c{c_pointers, m, n, m, batch};
  void call() {
    gemm_batched<double>(context(), op_a, op_b, 1.0, view_a, view_b, 0.0, view_c, options, info);
  }
};

struct Interleaved : BatchCall {
  static constexpr std::int64_t block = 2;
  InterleavedBatch<const double> view_a{a.data(), m, k, m, block, batch},
      view_b{b.data(), k, n, k, block, batch};
  InterleavedBatch<double> view_c{c.data(), m, n, m, block, batch};
  void call() {
    gemm_batched<double>(context(), op_a, op_b, 1.0, view_a, view_b, 0.0, view_c, options, info);
  }
};

// A group of two problems and one of one.
struct Grouped : BatchCall {
  std::array<GemmGroup<double>, 2> groups{group(0, 2), group(2, 1)};
  GemmGroup<double>& second() { return groups[1]; }
  void call() { gemm_grouped<double>(context(), groups, options, info); }

 private:
  GemmGroup<double> group(std::size_t first, std::int64_t count) {
    return {.m = m,
            .n = n,
            .k = k,
            .a = a_pointers + first,
            .lda = m,
            .b = b_pointers + first,
            .ldb = k,
            .c = c_pointers + first,
            .ldc = m,
            .count = count};
  }
};

struct Variable : BatchCall {
  std::array<GemmItem<double>, batch> items{};
  Variable() {
    for (std::size_t p = 0; p < items.size(); ++p)
      items[p] = {Op::none, Op::none,      m, n, k, 1.0, a_pointers[p], m, b_pointers[p], k,
                  0.0,      c_pointers[p], m};
  }
  GemmItem<double>& second() { return items[1]; }
  void call() { gemm_variable<double>(context(), items, options, info); }
};

void tell_single() {
  const Battery<Single> t("gemm");
  spoil_shape(t);
  t.run("a.data=c.data", [](Single& x) { x.view_a.data = x.c.data(); });
  t.run("b.data=c.data", [](Single& x) { x.view_b.data = x.c.data(); });
  spoil_empty(t, "m=0", [](Single& x) { x.view_a.rows = x.view_c.rows = 0; });
  spoil_options(t, spoiled_gemm_options());
}

void tell_strided() {
  const Battery<Strided> t("gemm_batched(strided)");
  spoil_shape(t);
  spoil_count(t);
  t.run("a.data=c.data", [](Strided& x) { x.view_a.data = x.c.data(); });
  t.run("b.data=c.data", [](Strided& x) { x.view_b.data = x.c.data(); });
  spoil_info(t);
  t.run("info=all,m=-1", [](Strided& x) {
    x.info = {InfoMode::all, x.codes.data()}, x.view_a.rows = x.view_c.rows = -1;
  });
  t.run("info=all,c.stride=0", [](Strided& x) {
    x.info = {InfoMode::all, x.codes.data()}, x.view_c.stride = 0;
  });
  t.run("info=all,count=-1", [](Strided& x) {
    x.info = {InfoMode::all, x.codes.data()}, x.view_a.count = x.view_b.count = x.view_c.count = -1;
  });
  tell_of("BatchScalar", "values=null", [] { BatchScalar<double>{static_cast<const double*>(nullptr)}; });
  spoil_options(t, spoiled_gemm_options());
}

template <class Get>
void spoil_levels_of(const Battery<Levels>& t, const std::string& name, Get view, std::int64_t least) {
  t.numbers(name + ".stride", least, AT(view(x).stride));
  t.numbers(name + ".outer_count", 2, AT(view(x).outer_count));
  t.numbers(name + ".outer_stride", 2 * least, AT(view(x).outer_stride));
  t.numbers(name + ".outermost_count", 2, AT(view(x).outermost_count));
  t.numbers(name + ".outermost_stride", 4 * least, AT(view(x).outermost_stride));
}

void tell_levels() {
  const Battery<Levels> t("gemm_batched(levels)");
  spoil_levels_of(t, "a", AT(x.view_a), 0);
  spoil_levels_of(t, "b", AT(x.view_b), 0);
  spoil_levels_of(t, "c", AT(x.view_c), m * n);
  spoil_count(t);
  spoil_together(t, "outer_count", [](Levels& x, std::int64_t value) {
    x.view_a.outer_count = x.view_b.outer_count = x.view_c.outer_count = value;
  });
  spoil_together(t, "outermost_count", [](Levels& x, std::int64_t value) {
    x.view_a.outermost_count = x.view_b.outermost_count = x.view_c.outermost_count = value;
  });
  t.run("info=all,c.outer_stride=1", [](Levels& x) {
    x.info = {InfoMode::all, x.codes.data()}, x.view_c.outer_stride = 1;
  });
}

void tell_pointers() {
  const Battery<Pointers> t("gemm_batched(pointer)");
  spoil_shape(t);
  spoil_count(t);
  t.run("a.data[1]=null", [](Pointers& x) { x.a_pointers[1] = nullptr; });
  t.run("b.data[2]=null", [](Pointers& x) { x.b_pointers[2] = nullptr; });
  t.run("c.data[0]=null", [](Pointers& x) { x.c_pointers[0] = nullptr; });
  t.run("a.data[1]=c.data[1]", [](Pointers& x) { x.a_pointers[1] = x.c_pointers[1]; });
  t.run("b.data[2]=c.data[2]", [](Pointers& x) { x.b_pointers[2] = x.c_pointers[2]; });
  t.run("checked,c.data[2]=c.data[0]",
        [](Pointers& x) { x.options.checked = true, x.c_pointers[2] = x.c_pointers[0]; });
  t.run("checked,c.data[1]=c.data[0]+1",
        [](Pointers& x) { x.options.checked = true, x.c_pointers[1] = x.c_pointers[0] + 1; });
  spoil_info(t);
  for (const InfoMode mode : {InfoMode::all, InfoMode::group, InfoMode::any})
    t.run("info=" + std::to_string(int(mode)) + ",b.data[1]=null", [mode](Pointers& x) {
      x.info = {mode, x.codes.data()}, x.b_pointers[1] = nullptr;
    });
  t.run("info=all,a.ld=2", [](Pointers& x) { x.info = {InfoMode::all, x.codes.data()}, x.view_a.ld = 2; });
  spoil_options(t, spoiled_gemm_options());
}

void tell_interleaved() {
  const Battery<Interleaved> t("gemm_batched(interleaved)");
  spoil_shape(t);
  spoil_count(t);
  spoil_together(t, "block", [](Interleaved& x, std::int64_t value) {
    x.view_a.block = x.view_b.block = x.view_c.block = value;
  });
  t.run("a.data=c.data", [](Interleaved& x) { x.view_a.data = x.c.data(); });
  t.run("b.data=c.data", [](Interleaved& x) { x.view_b.data = x.c.data(); });
  spoil_info(t);
  t.run("info=all,block=0", [](Interleaved& x) {
    x.info = {InfoMode::all, x.codes.data()}, x.view_a.block = x.view_b.block = x.view_c.block = 0;
  });
  spoil_options(t, spoiled_gemm_options());
}

template <class X>
void spoil_second(const Battery<X>& t) {
  spoil_second_shape(t);
  t.null("a", AT(x.second().a));
  t.null("b", AT(x.second().b));
  t.null("c", AT(x.second().c));
  spoil_info(t);
  for (const InfoMode mode : {InfoMode::all, InfoMode::group, InfoMode::any}) {
    const std::string name = "info=" + std::to_string(int(mode));
    t.run(name + ",k=-1", [mode](X& x) { x.info = {mode, x.codes.data()}, x.second().k = -1; });
    t.run(name + ",c=null", [mode](X& x) { x.info = {mode, x.codes.data()}, x.second().c = nullptr; });
  }
  spoil_options(t, spoiled_gemm_options());
}

void tell_grouped() {
  const Battery<Grouped> t("gemm_grouped");
  t.numbers("count", 0, AT(x.second().count));
  t.run("a[2]=null", [](Grouped& x) { x.a_pointers[2] = nullptr; });
  spoil_empty(t, "all counts=0", [](Grouped& x) { x.groups[0].count = x.groups[1].count = 0; });
  t.run("b[1]=null", [](Grouped& x) { x.b_pointers[1] = nullptr; });
  t.run("c[2]=null", [](Grouped& x) { x.c_pointers[2] = nullptr; });
  t.run("a[2]=c[2]", [](Grouped& x) { x.a_pointers[2] = x.c_pointers[2]; });
  t.run("checked,c[2]=c[0]", [](Grouped& x) { x.options.checked = true, x.c_pointers[2] = x.c_pointers[0]; });
  spoil_second(t);
}

void tell_variable() {
  const Battery<Variable> t("gemm_variable");
  spoil_empty(t, "all m=0", [](Variable& x) {
    for (auto& item : x.items) item.m = 0;
  });
  t.run("a=c", [](Variable& x) { x.second().a = x.second().c; });
  t.run("b=c", [](Variable& x) { x.second().b = x.second().c; });
  t.run("checked,c=c[0]", [](Variable& x) { x.options.checked = true, x.second().c = x.items[0].c; });
  spoil_second(t);
}

}  // namespace

void tell_products() {
  tell_single();
  tell_strided();
  tell_levels();
  tell_pointers();
  tell_interleaved();
  tell_grouped();
  tell_variable();
}

}  // namespace tilewright::golden
