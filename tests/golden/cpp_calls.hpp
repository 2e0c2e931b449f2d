// Calls of the C++ interface: what all have but their views, and how the fields of views are spoiled.
#pragma once

#include "golden/operands.hpp"
#include "golden/spoiled_options.hpp"

namespace tilewright::golden {

// The arguments that all calls share, which are all but their views.
struct Call : Operands {
  Op op_a = Op::none, op_b = Op::none;
  GemmOptions options;
};
struct BatchCall : Call {
  std::vector<int> codes = std::vector<int>(16, 99);
  BatchInfo info;

  // The first codes, where they were asked for, and what they say.
  std::string result() const {
    if (info.codes == nullptr) return "";
    std::string text = ", codes";
    for (int i = 0; i < int(batch); ++i) text += " " + std::to_string(codes[std::size_t(i)]);
    return text + ", " + written();
  }
};

// The fields of one view, of which `rows` x `cols` is valid.
template <class X, class Get>
void spoil_view(const Battery<X>& t, const std::string& name, std::int64_t rows, std::int64_t cols, Get view,
                std::int64_t least_stride) {
  t.numbers(name + ".rows", rows, AT(view(x).rows));
  t.numbers(name + ".cols", cols, AT(view(x).cols));
  t.numbers(name + ".ld", rows, AT(view(x).ld));
  t.null(name + ".data", AT(view(x).data));
  X sample;
  if constexpr (requires { view(sample).count; }) t.numbers(name + ".count", batch, AT(view(x).count));
  if constexpr (requires { view(sample).block; }) t.numbers(name + ".block", 1, AT(view(x).block));
  if constexpr (requires { view(sample).stride; })
    t.numbers(name + ".stride", least_stride, AT(view(x).stride));
}

// One field that several views have in common.
template <class X, class Set>
void spoil_together(const Battery<X>& t, const std::string& name, Set set) {
  for (const std::int64_t value : {std::int64_t(-1), std::int64_t(0), int64_max})
    t.run(name + "=" + (value == int64_max ? "INT64_MAX" : std::to_string(value)),
          [&](X& x) { set(x, value); });
}

template <class X>
void spoil_shape(const Battery<X>& t) {
  t.no_enumerator("op_a", AT(x.op_a));
  t.no_enumerator("op_b", AT(x.op_b));
  t.run("op_a=trans", [](X& x) { x.op_a = Op::trans; });
  t.run("op_b=conj_trans", [](X& x) { x.op_b = Op::conj_trans; });
  spoil_together(t, "m", [](X& x, std::int64_t value) { x.view_a.rows = x.view_c.rows = value; });
  spoil_together(t, "n", [](X& x, std::int64_t value) { x.view_b.cols = x.view_c.cols = value; });
  spoil_together(t, "k", [](X& x, std::int64_t value) { x.view_a.cols = x.view_b.rows = value; });
  spoil_view(t, "a", m, k, AT(x.view_a), 0);
  spoil_view(t, "b", k, n, AT(x.view_b), 0);
  spoil_view(t, "c", m, n, AT(x.view_c), m * n);
}

// The shape of the second group, item or stack, which is not the first that is looked at.
template <class X>
void spoil_second_shape(const Battery<X>& t) {
  t.no_enumerator("op_a", AT(x.second().op_a));
  t.no_enumerator("op_b", AT(x.second().op_b));
  t.numbers("m", 0, AT(x.second().m));
  t.numbers("n", 0, AT(x.second().n));
  t.numbers("k", 0, AT(x.second().k));
  t.numbers("lda", m, AT(x.second().lda));
  t.numbers("ldb", k, AT(x.second().ldb));
  t.numbers("ldc", m, AT(x.second().ldc));
}

// Options are judged where there is nothing to compute, too.
template <class X, class Empty>
void spoil_empty(const Battery<X>& t, const std::string& name, Empty empty) {
  t.run(name + ",threads=-1", [&](X& x) { empty(x), x.options.threads = -1; });
  t.run(name + ",candidate=x", [&](X& x) { empty(x), x.options.candidate = "x"; });
  t.run(name + ",stream=0x10",
        [&](X& x) { empty(x), x.options.queue.stream = reinterpret_cast<CUstream_st*>(std::uintptr_t(16)); });
}

template <class X>
void spoil_info(const Battery<X>& t) {
  t.run("info.mode=7", [](X& x) { x.info = {static_cast<InfoMode>(7), x.codes.data()}; });
  t.run("info={all,null}", [](X& x) { x.info = {InfoMode::all, nullptr}; });
  t.run("info={group,null}", [](X& x) { x.info = {InfoMode::group, nullptr}; });
  t.run("info={any,null}", [](X& x) { x.info = {InfoMode::any, nullptr}; });
}

template <class X>
void spoil_count(const Battery<X>& t) {
  spoil_together(t, "count",
                 [](X& x, std::int64_t value) { x.view_a.count = x.view_b.count = x.view_c.count = value; });
  spoil_empty(t, "count=0", [](X& x) { x.view_a.count = x.view_b.count = x.view_c.count = 0; });
}

}  // namespace tilewright::golden
