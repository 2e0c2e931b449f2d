// The C++ interface: conversions between layouts in host memory, allocations, contexts, and the share of a
// process in a distributed matrix.
#include "golden/operands.hpp"
#include "tilewright/allocate.hpp"
#include "tilewright/layout.hpp"
#include "tilewright/multinode.hpp"

namespace tilewright::golden {
namespace {

constexpr std::int64_t block = 2;

struct Conversion : Operands {
  int threads = 0;
};
struct FromStrided : Conversion {
  StridedBatch<const double> from{{a.data(), m, k, m}, m* k, batch};
  InterleavedBatch<double> to{c.data(), m, k, m, block, batch};
  void call() { interleave<double>(from, to, threads); }
};
struct FromPointers : Conversion {
  PointerBatch<const double> from{a_pointers, m, k, m, batch};
  InterleavedBatch<double> to{c.data(), m, k, m, block, batch};
  void call() { interleave<double>(from, to, threads); }
};
struct ToStrided : Conversion {
  InterleavedBatch<const double> from{a.data(), m, n, m, block, batch};
  StridedBatch<double> to{{c.data(), m, n, m}, m* n, batch};
  void call() { deinterleave<double>(from, to, threads); }
};
struct ToPointers : Conversion {
  InterleavedBatch<const double> from{a.data(), m, n, m, block, batch};
  PointerBatch<double> to{c_pointers, m, n, m, batch};
  void call() { deinterleave<double>(from, to, threads); }
};

template <class X, class Get>
void spoil_converted(const Battery<X>& t, const std::string& name, std::int64_t cols, Get view,
                     std::int64_t least_stride) {
  t.numbers(name + ".rows", m, AT(view(x).rows));
  t.numbers(name + ".cols", cols, AT(view(x).cols));
  t.numbers(name + ".ld", m, AT(view(x).ld));
  t.null(name + ".data", AT(view(x).data));
  X sample;
  t.small_numbers(name + ".count", batch, AT(view(x).count));
  // An array of pointers is read as far as its count says.
  if (!std::is_pointer_v<std::remove_cvref_t<decltype(*view(sample).data)>>)
    t.run(name + ".count=INT64_MAX", [&](X& x) { view(x).count = int64_max; });
  if constexpr (requires { view(sample).block; }) t.numbers(name + ".block", 1, AT(view(x).block));
  if constexpr (requires { view(sample).stride; }) {
    t.numbers(name + ".stride", least_stride, AT(view(x).stride));
    t.numbers(name + ".outer_count", 1, AT(view(x).outer_count));
    t.numbers(name + ".outermost_count", 1, AT(view(x).outermost_count));
  }
}

template <class X>
Battery<X> tell_conversion(const char* call, std::int64_t cols) {
  const Battery<X> t(call);
  spoil_converted(t, "from", cols, AT(x.from), 0);
  spoil_converted(t, "to", cols, AT(x.to), m * n);
  t.run("threads=-1", [](X& x) { x.threads = -1; });
  t.run("count=0,threads=-1", [](X& x) { x.from.count = x.to.count = 0, x.threads = -1; });
  return t;
}

void tell_conversions() {
  tell_conversion<FromStrided>("interleave(strided)", k);
  tell_conversion<ToStrided>("deinterleave(strided)", n);
  const auto from = tell_conversion<FromPointers>("interleave(pointer)", k);
  from.run("from.data[1]=null", [](FromPointers& x) { x.a_pointers[1] = nullptr; });
  const auto to = tell_conversion<ToPointers>("deinterleave(pointer)", n);
  to.run("to.data[2]=null", [](ToPointers& x) { x.c_pointers[2] = nullptr; });
  const auto elements = [](const char* what, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                           std::int64_t per_block, std::int64_t count) {
    tell_of("interleaved_elements", what,
            [=] { (void)interleaved_elements(rows, cols, ld, per_block, count); });
  };
  elements("valid", m, n, m, block, batch);
  elements("rows=-1", -1, n, m, block, batch);
  elements("cols=-1", m, -1, m, block, batch);
  elements("ld=2", m, n, 2, block, batch);
  elements("ld=INT64_MAX", m, n, int64_max, block, batch);
  elements("block=0", m, n, m, 0, batch);
  elements("block=INT64_MAX", m, n, m, int64_max, batch);
  elements("count=-1", m, n, m, block, -1);
  elements("count=INT64_MAX", m, n, m, block, int64_max);
}

void tell_allocations() {
  const auto allocate = [](const char* what, std::int64_t bytes, std::int64_t count,
                           Placement placement = Placement::first_touch, int threads = 0) {
    tell_of("allocate_batch", what, [=] { (void)allocate_batch(bytes, count, placement, threads); });
  };
  allocate("valid", 64, batch);
  allocate("bytes_per_problem=-1", -1, batch);
  allocate("bytes_per_problem=0", 0, batch);
  allocate("bytes_per_problem=INT64_MAX", int64_max, batch);
  allocate("batch_count=-1", 64, -1);
  allocate("batch_count=INT64_MAX", 64, int64_max);
  allocate("batch_count=2^56", 64, std::int64_t(1) << 56);
  allocate("placement=7", 64, batch, static_cast<Placement>(7));
  allocate("threads=-1", 64, batch, Placement::first_touch, -1);
  double own = 0;
  tell_of("allocate_pinned", "bytes=0", [] { (void)allocate_pinned(0); });
  tell_of("allocate_pinned", "bytes=-1", [] { (void)allocate_pinned(-1); });
  tell_of("allocate_pinned", "bytes=64", [] { (void)allocate_pinned(64); });
  tell_of("register_pinned", "data=null", [] { (void)register_pinned(nullptr, 64); });
  tell_of("register_pinned", "bytes=0", [&] { (void)register_pinned(&own, 0); });
}

void tell_contexts() {
  tell_of("Context", "cpu=x", [] { Context({.cpu = "x"}); });
  tell_of("Context", "wisdom=/nowhere/x.jsonl", [] { Context({.wisdom = "/nowhere/x.jsonl"}); });
  tell_of("Context", "wisdom=/nowhere/x.sqlite", [] { Context({.wisdom = "/nowhere/x.sqlite"}); });
  tell_of("Context", "wisdom=/", [] { Context({.wisdom = "/"}); });
  tell_of("Context", "cblas=/nowhere/x.so", [] { Context({.cblas = "/nowhere/x.so"}); });
  const auto extent = [](const char* what, std::int64_t size, std::int64_t per_block, std::int64_t coordinate,
                         std::int64_t source, std::int64_t processes) {
    tell_of("local_extent", what,
            [=] { (void)local_extent(size, per_block, coordinate, source, processes); });
  };
  extent("extent=-1", -1, 1, 0, 0, 1);
  extent("block=0", 1, 0, 0, 0, 1);
  extent("processes=0", 1, 1, 0, 0, 0);
  extent("coordinate=-1", 1, 1, -1, 0, 2);
  extent("coordinate=2", 1, 1, 2, 0, 2);
  extent("source=-1", 1, 1, 0, -1, 2);
  extent("source=2", 1, 1, 0, 2, 2);
}

}  // namespace

void tell_layouts() {
  tell_conversions();
  tell_allocations();
  tell_contexts();
}

}  // namespace tilewright::golden
