// Kernels that sum products into one C, one product after the other, each added to the sum of its run.
#include <complex>
#include <set>

#include "fake_kernels.hpp"
#include "kernel/gemm_small/config.hpp"
#include "kernel/gemm_small/total_config.hpp"
#include "product.hpp"
#include "shape_text.hpp"

namespace tilewright::fake_cuda {
namespace {

unsigned long long number(const void* address) { return reinterpret_cast<unsigned long long>(address); }

template <class T>
struct Listed {
  GemmSmallStep step;
  T* base;
  T* origin;
  long long stride, ld;
  long long rows, columns;  // as stored

  bool has_entry(const Memory& memory, int device, long long list_step, long long p) const {
    return step != GemmSmallStep::pointer ||
           memory.holds(number(reinterpret_cast<const long long*>(base) + p * list_step), sizeof(void*),
                        device);
  }
  T* at(long long list_step, long long p) const {
    if (step != GemmSmallStep::pointer) return base + p * stride;
    const long long entry = reinterpret_cast<const long long*>(base)[p * list_step];
    return origin == nullptr ? reinterpret_cast<T*>(entry) : origin + entry;
  }
  bool holds(const T* matrix, const Memory& memory, int device) const {
    return memory.holds(number(matrix), std::size_t((columns - 1) * ld + rows) * sizeof(T), device);
  }
};

long long ld_of(const GemmSmallOperand& o, long long passed) { return o.contiguous ? o.ld : passed; }

// Returns false if it would touch memory that is not the device's, or if a C has two runs in one list, which
// two warps would write.
template <class T>
bool sum_up(const GemmSmallShape& s, const GemmSmallArgs<T>& x, const Memory& memory, int device) {
  const GemmSmallOperand oa = gemm_small_a(s, sizeof(T)), ob = gemm_small_b(s, sizeof(T)),
                         oc = gemm_small_c(s, sizeof(T));
  const Listed<const T> of_a{s.step_a, x.a, x.origin_a, x.stride_a, ld_of(oa, x.lda), oa.rows, oa.columns};
  const Listed<const T> of_b{s.step_b, x.b, x.origin_b, x.stride_b, ld_of(ob, x.ldb), ob.rows, ob.columns};
  const Listed<T> of_c{s.step_c, x.c, x.origin_c, x.stride_c, ld_of(oc, x.ldc), s.m, s.n};
  const bool reads_ab = s.k > 0 && x.alpha != T{};
  std::set<const T*> ended;
  const T* last = nullptr;
  for (long long p = 0; p < x.count; ++p) {
    const long long in_c = s.sums == GemmSmallSums::fixed ? p / x.run : p;
    const bool named = of_c.has_entry(memory, device, x.list_step, in_c) &&
                       (s.k == 0 || (of_a.has_entry(memory, device, x.list_step, p) &&
                                     of_b.has_entry(memory, device, x.list_step, p)));
    if (!named) return false;
    T* const c = of_c.at(x.list_step, in_c);
    const bool begins = p == 0 || c != last;
    if (begins && !ended.insert(c).second) return false;
    last = c;
    if (c == nullptr) continue;
    if (!of_c.holds(c, memory, device)) return false;
    const auto each = [&](auto&& f) {
      for (long long j = 0; j < s.n; ++j)
        for (long long i = 0; i < s.m; ++i) f(i, j, c[j * of_c.ld + i]);
    };
    if (begins) each([&](long long, long long, T& e) { e = s.reads_c ? x.beta * e : T{}; });
    if (!reads_ab) continue;
    const T *const a = of_a.at(x.list_step, p), *const b = of_b.at(x.list_step, p);
    if (a == nullptr || b == nullptr) continue;
    if (!of_a.holds(a, memory, device) || !of_b.holds(b, memory, device)) return false;
    const Elements<T> ea{a, 1, of_a.ld, s.conj_a}, eb{b, 1, of_b.ld, s.conj_b};
    multiply_elements<T>(
        s.m, s.n, s.k, s.trans_a ? ea.transposed() : ea, s.trans_b ? eb.transposed() : eb,
        [&](long long i, long long j, T product) { c[j * of_c.ld + i] += x.alpha * product; });
  }
  return true;
}

template <class T>
bool add_parts(const GemmSmallTotalArgs<T>& x, const Memory& memory, int device) {
  T* c = x.c;
  if (c == nullptr) {
    if (!memory.holds(number(x.c_at), sizeof(T*), device)) return false;
    c = *x.c_at;
  }
  if (!memory.holds(number(c), std::size_t((x.n - 1) * x.ldc + x.m) * sizeof(T), device)) return false;
  const long long elements = x.m * x.n;
  if (x.part_count > 0 &&
      !memory.holds(number(x.parts), std::size_t(elements * x.part_count) * sizeof(T), device))
    return false;
  for (long long e = 0; e < elements; ++e) {
    T sum{};
    for (long long part = 0; part < x.part_count; ++part) sum += x.parts[part * elements + e];
    T& element = c[e / x.m * x.ldc + e % x.m];
    element = x.alpha * sum + (x.reads_c ? x.beta * element : T{});
  }
  return true;
}

template <class T>
Work typed(const std::string& expression, const void* arguments) {
  if (expression.find("gemm_small_total<") != std::string::npos)
    return [x = *static_cast<const GemmSmallTotalArgs<T>*>(arguments)](const Memory& memory, int device) {
      return add_parts(x, memory, device);
    };
  return [s = shape_of<GemmSmallShape>(expression, "GemmSmallShape{"),
          x = *static_cast<const GemmSmallArgs<T>*>(arguments)](const Memory& memory, int device) {
    return sum_up(s, x, memory, device);
  };
}

}  // namespace

Work make_sums_kernel(const std::string& expression, const void* arguments) {
  const auto has = [&](const char* part) { return expression.find(part) != std::string::npos; };
  if (has("Complex<float>")) return typed<std::complex<float>>(expression, arguments);
  if (has("Complex<double>")) return typed<std::complex<double>>(expression, arguments);
  return has("<float") ? typed<float>(expression, arguments) : typed<double>(expression, arguments);
}

}  // namespace tilewright::fake_cuda
