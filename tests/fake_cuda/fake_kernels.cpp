// gemm_small and gpu_scale by plain loops. An expression of another kernel computes nothing.
#include "fake_kernels.hpp"

#include <chrono>
#include <complex>
#include <cstdint>
#include <cstring>
#include <new>
#include <regex>

#include "kernel/gemm_small_config.hpp"
#include "kernel/gpu_scale_config.hpp"

namespace tilewright::fake_cuda {
namespace {

constexpr std::align_val_t alignment{256};  // as cuMemAlloc gives

// ".m=4, .step_a=decltype(...)(2), ..." inside "GemmSmallShape{...}".
GemmSmallShape shape_of(const std::string& expression) {
  const std::size_t begin = expression.find("GemmSmallShape{");
  const std::string text = expression.substr(begin, expression.find('}', begin) - begin);
  nlohmann::json json;
  for_each_field<GemmSmallShape>([&](const auto& f) {
    std::smatch found;
    const std::regex value("\\." + std::string(f.name) + R"(=(?:decltype\([^)]*\)\()?(\w+))");
    if (!std::regex_search(text, found, value)) return;
    GemmSmallShape shape;
    using M = std::remove_cvref_t<decltype(shape.*(f.member))>;
    const std::string word = found[1];
    if constexpr (std::is_same_v<M, bool>)
      json[std::string(f.name)] = word == "true";
    else if constexpr (std::is_enum_v<M>)
      json[std::string(f.name)] = to_string(static_cast<M>(std::stoi(word)));
    else
      json[std::string(f.name)] = std::stoi(word);
  });
  return from_json<GemmSmallShape>(json);
}

template <class T>
T conjugate(T x) {
  return x;
}
template <class R>
std::complex<R> conjugate(std::complex<R> x) {
  return std::conj(x);
}

// Where the matrices of one operand lie.
struct Place {
  long long rows, columns, ld, stride;
};
Place place(GemmSmallStep step, long long rows, long long columns, long long ld, long long stride) {
  if (step == GemmSmallStep::packed) return {rows, columns, rows, rows * columns};
  // A broadcast matrix may have gaps, which only its leading dimension tells.
  return {rows, columns, ld > 0 ? ld : rows, step == GemmSmallStep::broadcast ? 0 : stride};
}

bool is_inside(const Memory& memory, int device, const void* base, const Place& p, long long count,
               std::size_t size) {
  const auto address = reinterpret_cast<unsigned long long>(base);
  for (long long q = 0; q < (p.stride == 0 ? 1 : count); ++q)
    if (!memory.holds(address + static_cast<unsigned long long>(q * p.stride) * size,
                      static_cast<std::size_t>((p.columns - 1) * p.ld + p.rows) * size, device))
      return false;
  return true;
}

template <class T>
bool multiply(const GemmSmallShape& s, const GemmSmallArgs<T>& x, const Memory& memory, int device) {
  const Place a = place(s.step_a, s.trans_a ? s.k : s.m, s.trans_a ? s.m : s.k, x.lda, x.stride_a);
  const Place b = place(s.step_b, s.trans_b ? s.n : s.k, s.trans_b ? s.k : s.n, x.ldb, x.stride_b);
  const Place c = place(s.step_c, s.m, s.n, x.ldc, x.stride_c);
  if (!is_inside(memory, device, x.a, a, x.count, sizeof(T)) ||
      !is_inside(memory, device, x.b, b, x.count, sizeof(T)) ||
      !is_inside(memory, device, x.c, c, x.count, sizeof(T)))
    return false;
  const auto bits = reinterpret_cast<std::uintptr_t>(x.a) | reinterpret_cast<std::uintptr_t>(x.b) |
                    reinterpret_cast<std::uintptr_t>(x.c);
  if (bits % static_cast<unsigned>(s.align_bytes) != 0) return false;
  for (long long q = 0; q < x.count; ++q)
    for (int j = 0; j < s.n; ++j)
      for (int i = 0; i < s.m; ++i) {
        T sum{};
        for (int l = 0; l < s.k; ++l) {
          T u = x.a[q * a.stride + (s.trans_a ? i * a.ld + l : l * a.ld + i)];
          T v = x.b[q * b.stride + (s.trans_b ? l * b.ld + j : j * b.ld + l)];
          sum += (s.conj_a ? conjugate(u) : u) * (s.conj_b ? conjugate(v) : v);
        }
        T& element = x.c[q * c.stride + j * c.ld + i];
        element = s.reads_c ? x.alpha * sum + x.beta * element : x.alpha * sum;
      }
  return true;
}

template <class T>
bool scale(bool zero, bool packed, const GpuScaleArgs<T>& x, const Memory& memory, int device) {
  const Place c{x.m, x.n, packed ? x.m : x.ldc, packed ? x.m * x.n : x.stride_c};
  if (!is_inside(memory, device, x.c, c, x.count, sizeof(T))) return false;
  for (long long q = 0; q < x.count; ++q)
    for (long long j = 0; j < x.n; ++j)
      for (long long i = 0; i < x.m; ++i) {
        T& element = x.c[q * c.stride + j * c.ld + i];
        element = zero ? T{} : x.beta * element;
      }
  return true;
}

template <class T>
Work typed(const std::string& expression, const void* arguments) {
  if (expression.find("gemm_small<") != std::string::npos)
    return [s = shape_of(expression), x = *static_cast<const GemmSmallArgs<T>*>(arguments)](
               const Memory& memory, int device) { return multiply(s, x, memory, device); };
  if (expression.find("gpu_scale<") == std::string::npos) return [](const Memory&, int) { return true; };
  const std::size_t first = expression.rfind(", "), second = expression.rfind(", ", first - 1);
  const bool packed = expression.compare(first + 2, 4, "true") == 0;
  const bool zero = expression.compare(second + 2, 4, "true") == 0;
  return [zero, packed, x = *static_cast<const GpuScaleArgs<T>*>(arguments)](
             const Memory& memory, int device) { return scale(zero, packed, x, memory, device); };
}

}  // namespace

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

unsigned long long Memory::add(std::size_t bytes, int device) {
  void* base = ::operator new(bytes, alignment);
  std::memset(base, 0xEE, bytes);  // nobody may count on zeros
  const auto address = reinterpret_cast<unsigned long long>(base);
  blocks_[address] = {bytes, device, base};
  return address;
}
bool Memory::remove(unsigned long long address) {
  const auto it = blocks_.find(address);
  if (it == blocks_.end()) return false;
  ::operator delete(it->second.base, alignment);
  blocks_.erase(it);
  return true;
}
int Memory::owner(unsigned long long address) const {
  auto it = blocks_.upper_bound(address);
  if (it == blocks_.begin()) return -1;
  --it;
  return address < it->first + it->second.bytes ? it->second.device : -1;
}
bool Memory::holds(unsigned long long address, std::size_t bytes, int device) const {
  auto it = blocks_.upper_bound(address);
  if (it == blocks_.begin()) return false;
  --it;
  return it->second.device == device && address + bytes <= it->first + it->second.bytes;
}

Work make_kernel(const std::string& expression, const void* arguments) {
  if (expression.find("Complex<float>") != std::string::npos)
    return typed<std::complex<float>>(expression, arguments);
  if (expression.find("Complex<double>") != std::string::npos)
    return typed<std::complex<double>>(expression, arguments);
  if (expression.find("<float") != std::string::npos) return typed<float>(expression, arguments);
  return typed<double>(expression, arguments);
}

}  // namespace tilewright::fake_cuda
