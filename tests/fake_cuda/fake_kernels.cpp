// Computes gemm_small, gemm_large, gemm_thin, gpu_scale and layout_convert by plain loops; neighbouring files
// have the other kernels. An expression of an unknown kernel computes nothing, nor does one that contains the
// text of TILEWRIGHT_FAKE_WRONG.
#include "fake_kernels.hpp"

#include <algorithm>
#include <chrono>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "kernel/gemm_large/config.hpp"
#include "kernel/gemm_large/list_config.hpp"
#include "kernel/gemm_small/config.hpp"
#include "kernel/gemm_thin/config.hpp"
#include "kernel/layout/loader.hpp"
#include "kernel/scale/config.hpp"
#include "product.hpp"
#include "shape_text.hpp"

namespace tilewright::fake_cuda {
namespace {

constexpr std::align_val_t alignment{256};  // the alignment of cuMemAlloc

// One operand: element (i, j) of problem q, and a test whether a matrix lies in the device's memory.
template <class T>
struct Place {
  GemmSmallOperand shape;
  int interleave = 1;  // for packed operands
  const T* base = nullptr;
  long long ld = 0, stride = 0;  // arguments of the launch

  long long leading() const {
    const bool known =
        shape.step == GemmSmallStep::packed || (shape.step == GemmSmallStep::pointer && shape.contiguous);
    return known ? shape.ld : ld;
  }
  Elements<T> elements(long long q, bool conjugated) const {
    const bool lies_in_blocks = shape.step == GemmSmallStep::interleaved;
    const long long row = shape.step == GemmSmallStep::packed ? interleave : lies_in_blocks ? stride : 1;
    return {at(q, 0, 0), row, row * leading(), conjugated};
  }
  T* at(long long q, long long i, long long j) const {
    const long long in = j * leading() + i;
    switch (shape.step) {
      case GemmSmallStep::packed:
        return const_cast<T*>(base) + q / interleave * interleave * shape.elements + in * interleave +
               q % interleave;
      case GemmSmallStep::broadcast:
        return const_cast<T*>(base) + in;
      case GemmSmallStep::strided:
        return const_cast<T*>(base) + q * stride + in;
      case GemmSmallStep::pointer:
        return reinterpret_cast<T* const*>(base)[q] + in;
      case GemmSmallStep::interleaved:
        return const_cast<T*>(base) + q / stride * stride * leading() * shape.columns + in * stride +
               q % stride;
    }
    return nullptr;
  }
  bool is_null(long long q) const {
    return shape.step == GemmSmallStep::pointer && reinterpret_cast<T* const*>(base)[q] == nullptr;
  }
  // True if `rows` x `columns` of matrix q lie in the device's memory.
  bool is_inside(const Memory& memory, int device, long long q, long long rows, long long columns) const {
    if (rows == 0 || columns == 0) return true;
    return memory.holds(number(at(q, 0, 0)), sizeof(T), device) &&
           memory.holds(number(at(q, rows - 1, columns - 1)), sizeof(T), device);
  }
  bool has_addresses(const Memory& memory, int device, long long count) const {
    return shape.step != GemmSmallStep::pointer ||
           memory.holds(number(base), std::size_t(count) * sizeof(T*), device);
  }
  static unsigned long long number(const void* address) {
    return reinterpret_cast<unsigned long long>(address);
  }
};

struct Sizes {
  long long m, n, k, lda, ldb, ldc;
};
template <class T>
Sizes sizes_of(const GemmSmallShape& s, const GemmSmallArgs<T>& x, long long q) {
  if (!s.sizes_vary) return {s.m, s.n, s.k, x.lda, x.ldb, x.ldc};
  return {x.sizes_m[q], x.sizes_n[q], x.sizes_k[q], x.sizes_lda[q], x.sizes_ldb[q], x.sizes_ldc[q]};
}

// Returns minus the number of the bad argument in Batched BLAS; 1 if another launch takes the problem.
template <class T>
int size_code(const GemmSmallShape& s, const GemmSmallArgs<T>& x, const Sizes& own) {
  if (!s.sizes_vary) return 0;
  if (own.m < 0) return -3;
  if (own.n < 0) return -4;
  if (own.k < 0) return -5;
  if (x.above > 0 && std::max({own.m, own.n, own.k}) <= x.above) return 1;
  const int number = own.m > s.m ? -3 : own.n > s.n ? -4 : own.k > s.k ? -5 : 0;
  if (number != 0) return x.last ? number : 1;
  if (own.lda < std::max(1LL, s.trans_a ? own.k : own.m)) return -8;
  if (own.ldb < std::max(1LL, s.trans_b ? own.n : own.k)) return -10;
  return own.ldc < std::max(1LL, own.m) ? -13 : 0;
}

// Computes one problem; returns false if it would touch memory that is not the device's.
template <class T>
bool multiply_one(const GemmSmallShape& s, const GemmSmallArgs<T>& x, const Memory& memory, int device,
                  long long q) {
  const Sizes own = sizes_of(s, x, q);
  const int lanes = std::max(1, s.interleave);
  const Place<T> a{gemm_small_a(s, sizeof(T)), lanes, x.a, own.lda, x.stride_a};
  const Place<T> b{gemm_small_b(s, sizeof(T)), lanes, x.b, own.ldb, x.stride_b};
  const Place<T> c{gemm_small_c(s, sizeof(T)), lanes, x.c, own.ldc, x.stride_c};
  const T alpha = s.scalars_vary ? x.alphas[q] : x.alpha, beta = s.scalars_vary ? x.betas[q] : x.beta;
  const bool adds = s.reads_c && !(s.scalars_vary && beta == T{});
  int code = size_code(s, x, own);
  const bool works = code == 0 && own.m > 0 && own.n > 0;
  const bool reads_ab = works && own.k > 0 && (!s.sizes_vary && !s.scalars_vary ? true : alpha != T{});
  if (reads_ab && a.is_null(q))
    code = -7;
  else if (reads_ab && b.is_null(q))
    code = -9;
  else if (works && c.is_null(q))
    code = -12;
  if (x.info != nullptr && code < 0) {
    int& noted = x.info[q * x.info_step];
    if (noted == 0) noted = code;
  }
  if (code != 0 || !works) return true;
  if (reads_ab && (!a.is_inside(memory, device, q, s.trans_a ? own.k : own.m, s.trans_a ? own.m : own.k) ||
                   !b.is_inside(memory, device, q, s.trans_b ? own.n : own.k, s.trans_b ? own.k : own.n)))
    return false;
  if (!c.is_inside(memory, device, q, own.m, own.n)) return false;
  const Elements<T> of_a = reads_ab ? a.elements(q, s.conj_a) : Elements<T>{};
  const Elements<T> of_b = reads_ab ? b.elements(q, s.conj_b) : Elements<T>{};
  multiply_elements<T>(own.m, own.n, reads_ab ? own.k : 0, s.trans_a ? of_a.transposed() : of_a,
                       s.trans_b ? of_b.transposed() : of_b, [&](long long i, long long j, T sum) {
                         T& element = *c.at(q, i, j);
                         const T product = reads_ab ? alpha * sum : T{};
                         element = adds ? product + beta * element : product;
                       });
  return true;
}

template <class T>
bool multiply(const GemmSmallShape& s, const GemmSmallArgs<T>& x, const Memory& memory, int device) {
  const Place<T> operands[] = {{gemm_small_a(s, sizeof(T)), 1, x.a},
                               {gemm_small_b(s, sizeof(T)), 1, x.b},
                               {gemm_small_c(s, sizeof(T)), 1, x.c}};
  const auto holds = [&](const void* array, std::size_t element) {
    return memory.holds(Place<T>::number(array), std::size_t(x.count) * element, device);
  };
  for (const Place<T>& place : operands) {
    const bool is_read = s.k > 0 || &place == &operands[2];
    const bool packed = place.shape.step == GemmSmallStep::packed;
    if (is_read && !place.has_addresses(memory, device, x.count)) return false;
    if (is_read && packed && Place<T>::number(place.base) % static_cast<unsigned>(s.align_bytes) != 0)
      return false;
  }
  if (s.scalars_vary && (!holds(x.alphas, sizeof(T)) || !holds(x.betas, sizeof(T)))) return false;
  if (s.sizes_vary)
    for (const auto* array : {x.sizes_m, x.sizes_n, x.sizes_k, x.sizes_lda, x.sizes_ldb, x.sizes_ldc})
      if (!holds(array, sizeof *array)) return false;
  for (long long q = 0; q < x.count; ++q)
    if (!multiply_one(s, x, memory, device, q)) return false;
  return true;
}

template <class T>
bool multiply_single(const GemmLargeShape& s, const GemmLargeArgs<T>& x, const Memory& memory, int device) {
  const auto inside = [&](const T* base, long long ld, long long rows, long long columns) {
    return memory.holds(reinterpret_cast<unsigned long long>(base),
                        static_cast<std::size_t>((columns - 1) * ld + rows) * sizeof(T), device);
  };
  const bool trans_a = s.trans_a, trans_b = s.trans_b;
  if (x.k > 0 && (!inside(x.a, x.lda, trans_a ? x.k : x.m, trans_a ? x.m : x.k) ||
                  !inside(x.b, x.ldb, trans_b ? x.n : x.k, trans_b ? x.k : x.n)))
    return false;
  if (!inside(x.c, x.ldc, x.m, x.n)) return false;
  const auto address = [](const T* base) { return reinterpret_cast<std::uintptr_t>(base); };
  const bool reads = x.k > 0;  // padded copies are not made if alpha = 0
  if ((reads && (address(x.a) % unsigned(s.align_a) != 0 || address(x.b) % unsigned(s.align_b) != 0)) ||
      address(x.c) % unsigned(s.align_c) != 0)
    return false;
  const Elements<T> a{x.a, 1, x.lda, s.conj_a}, b{x.b, 1, x.ldb, s.conj_b};
  multiply_elements<T>(x.m, x.n, x.k, trans_a ? a.transposed() : a, trans_b ? b.transposed() : b,
                       [&](long long i, long long j, T sum) {
                         T& element = x.c[j * x.ldc + i];
                         const T product = x.k > 0 ? x.alpha * sum : T{};
                         element = s.reads_c ? product + x.beta * element : product;
                       });
  return true;
}

template <class T>
bool multiply(const GemmLargeShape& s, const GemmLargeArgs<T>& x, const Memory& memory, int device) {
  if (s.batch == GemmLargeBatch::none) return multiply_single(s, x, memory, device);
  const auto address = [&](const T* base, int q) { return reinterpret_cast<T* const*>(base)[q]; };
  const auto holds = [&](const T* base) {
    return memory.holds(reinterpret_cast<unsigned long long>(base), std::size_t(x.problems) * sizeof(T*),
                        device);
  };
  const bool pointers = s.batch == GemmLargeBatch::pointers;
  if (pointers && (!holds(x.c) || (x.k > 0 && (!holds(x.a) || !holds(x.b))))) return false;
  for (int q = 0; q < x.problems; ++q) {
    GemmLargeArgs<T> one = x;
    if (pointers) {
      one.c = address(x.c, q);
      if (x.k > 0) one.a = address(x.a, q), one.b = address(x.b, q);
    } else {
      one.a += q * x.stride_a;
      one.b += q * x.stride_b;
      one.c += q * x.stride_c;
    }
    if (!multiply_single(s, one, memory, device)) return false;
  }
  return true;
}

// Returns minus the number of the bad argument in Batched BLAS. `own` gets what of the problem is multiplied.
template <class T>
int take_problem(const GemmLargeShape& s, const GemmLargeListArgs<T>& x, int q, GemmLargeArgs<T>& own) {
  own.m = x.m, own.n = x.n, own.k = x.k, own.lda = x.lda, own.ldb = x.ldb, own.ldc = x.ldc;
  if (x.sizes_m != nullptr) {
    own.m = x.sizes_m[q], own.n = x.sizes_n[q], own.k = x.sizes_k[q];
    own.lda = x.sizes_lda[q], own.ldb = x.sizes_ldb[q], own.ldc = x.sizes_ldc[q];
  }
  if (own.m < 0 || own.m > x.m) return -3;
  if (own.n < 0 || own.n > x.n) return -4;
  if (own.k < 0 || own.k > x.k) return -5;
  if (own.lda < std::max(1LL, s.trans_a ? own.k : own.m)) return -8;
  if (own.ldb < std::max(1LL, s.trans_b ? own.n : own.k)) return -10;
  if (own.ldc < std::max(1LL, own.m)) return -13;
  own.alpha = x.alphas != nullptr ? x.alphas[q] : x.alpha;
  own.beta = x.betas != nullptr ? x.betas[q] : x.beta;
  if (own.alpha == T{}) own.k = 0;
  if (own.m == 0 || own.n == 0) return 0;
  const auto at = [&](auto* base, long long stride) {
    return x.addresses ? reinterpret_cast<decltype(base) const*>(base)[q] : base + q * stride;
  };
  if (own.k > 0) own.a = at(x.a, x.stride_a), own.b = at(x.b, x.stride_b);
  own.c = at(x.c, x.stride_c);
  return own.k > 0 && own.a == nullptr ? -7 : own.k > 0 && own.b == nullptr ? -9 : own.c == nullptr ? -12 : 0;
}

template <class T>
bool multiply(const GemmLargeShape& s, const GemmLargeListArgs<T>& x, const Memory& memory, int device) {
  const auto holds = [&](const void* array, std::size_t bytes) {
    return array == nullptr ||
           memory.holds(reinterpret_cast<unsigned long long>(array), std::size_t(x.problems) * bytes, device);
  };
  for (const auto* array : {x.sizes_m, x.sizes_n, x.sizes_k, x.sizes_lda, x.sizes_ldb, x.sizes_ldc})
    if (!holds(array, sizeof *array)) return false;
  if (!holds(x.alphas, sizeof(T)) || !holds(x.betas, sizeof(T))) return false;
  if (x.addresses && (!holds(x.a, sizeof(T*)) || !holds(x.b, sizeof(T*)) || !holds(x.c, sizeof(T*))))
    return false;
  for (int q = 0; q < x.problems; ++q) {
    GemmLargeArgs<T> own{};
    const int code = take_problem(s, x, q, own);
    if (code != 0 && x.info != nullptr && x.info[q * x.info_step] == 0) x.info[q * x.info_step] = code;
    if (code != 0 || own.m == 0 || own.n == 0 || (own.k == 0 && own.beta == T(1))) continue;
    GemmLargeShape one = s;
    one.reads_c = s.reads_c && own.beta != T{};
    if (!multiply_single(one, own, memory, device)) return false;
  }
  return true;
}

template <class T>
bool multiply(const GemmThinShape& s, const GemmThinArgs<T>& x, const Memory& memory, int device) {
  const long long x_row = s.x_by_points ? x.ld_x : 1, x_column = s.x_by_points ? 1 : x.ld_x;
  const long long y_row = s.y_by_points ? x.ld_y : 1, y_column = s.y_by_points ? 1 : x.ld_y;
  const auto inside = [&](const T* base, long long last) {
    return memory.holds(reinterpret_cast<unsigned long long>(base), std::size_t(last + 1) * sizeof(T),
                        device);
  };
  const bool reads = s.unit_alpha || x.alpha != T{}, adds = s.reads_y && (s.unit_beta || x.beta != T{});
  for (long long q = 0; q < x.count; ++q) {
    T* const y = x.y + q * x.stride_y;
    const Elements<T> of_x{x.x + q * x.stride_x, x_row, x_column, s.conj_x};
    const Elements<T> of_w{x.w + q * x.stride_w, x.w_k, x.w_n, s.conj_w};
    if (reads && (!inside(x.x + q * x.stride_x, (x.points - 1) * x_row + (s.k - 1) * x_column) ||
                  !inside(x.w + q * x.stride_w, (s.k - 1) * x.w_k + (s.n - 1) * x.w_n)))
      return false;
    if (!inside(y, (x.points - 1) * y_row + (s.n - 1) * y_column)) return false;
    multiply_elements<T>(x.points, s.n, reads ? s.k : 0, of_x, of_w, [&](long long i, long long j, T sum) {
      T& element = y[i * y_row + j * y_column];
      const T product = reads ? x.alpha * sum : T{};
      element = adds ? product + x.beta * element : product;
    });
  }
  return true;
}

template <class T>
bool scale(bool zero, bool packed, const GpuScaleArgs<T>& x, const Memory& memory, int device) {
  const long long ld = packed ? x.m : x.ldc, stride = packed ? x.m * x.n : x.stride_c;
  const auto bytes = static_cast<std::size_t>((x.count - 1) * stride + (x.n - 1) * ld + x.m) * sizeof(T);
  if (!memory.holds(reinterpret_cast<unsigned long long>(x.c), bytes, device)) return false;
  for (long long q = 0; q < x.count; ++q)
    for (long long j = 0; j < x.n; ++j)
      for (long long i = 0; i < x.m; ++i) {
        T& element = x.c[q * stride + j * ld + i];
        element = zero ? T{} : x.beta * element;
      }
  return true;
}

// Visits the slots in the order of memory; those without a problem become zero.
template <class T>
bool convert(bool interleaves, const GpuLayoutOperands& x, const Memory& memory, int device) {
  for (long long q = 0; q < (interleaves ? x.stored : x.count); ++q)
    for (int j = 0; j < x.columns; ++j)
      for (int i = 0; i < x.rows; ++i) {
        const long long place = q / x.block * x.interleaved_ld * x.columns + j * x.interleaved_ld + i;
        T* const slot = static_cast<T*>(x.interleaved) + place * x.block + q % x.block;
        T* matrix = nullptr;
        if (q < x.count && x.addresses != nullptr) matrix = static_cast<T*>(x.addresses[q]);
        if (q < x.count && x.addresses == nullptr) matrix = static_cast<T*>(x.single) + q * x.stride;
        T* const element = matrix == nullptr ? nullptr : matrix + j * x.ld + i;
        for (const T* touched : {slot, element})
          if (touched != nullptr && !memory.holds(Place<T>::number(touched), sizeof(T), device)) return false;
        if (interleaves) *slot = element == nullptr ? T{} : *element;
        if (!interleaves && element != nullptr) *element = *slot;
      }
  return true;
}

template <class T>
bool pad(const GemmLargePadOperand<T>& x, const Memory& memory, int device) {
  const auto holds = [&](const T* base, long long ld, long long rows, long long columns) {
    return memory.holds(reinterpret_cast<unsigned long long>(base),
                        static_cast<std::size_t>((columns - 1) * ld + rows) * sizeof(T), device);
  };
  if (x.to_columns == 0) return true;
  if (!holds(x.from, x.ld, x.rows, x.columns) || !holds(x.to, x.to_rows, x.to_rows, x.to_columns))
    return false;
  for (long long j = 0; j < x.to_columns; ++j)
    for (long long i = 0; i < x.to_rows; ++i) {
      const long long row = x.transposed ? j : i, column = x.transposed ? i : j;
      x.to[j * x.to_rows + i] = row < x.rows && column < x.columns ? x.from[column * x.ld + row] : T{};
    }
  return true;
}

template <class T>
Work typed(const std::string& expression, const void* arguments) {
  if (expression.find("gemm_small<") != std::string::npos)
    return [s = shape_of<GemmSmallShape>(expression, "GemmSmallShape{"),
            x = *static_cast<const GemmSmallArgs<T>*>(arguments)](const Memory& memory, int device) {
      return multiply(s, x, memory, device);
    };
  if (expression.find("gemm_large<") != std::string::npos)
    return [s = shape_of<GemmLargeShape>(expression, "GemmLargeShape{"),
            x = *static_cast<const GemmLargeArgs<T>*>(arguments)](const Memory& memory, int device) {
      return multiply(s, x, memory, device);
    };
  if (expression.find("gemm_large_list<") != std::string::npos)
    return [s = shape_of<GemmLargeShape>(expression, "GemmLargeShape{"),
            x = *static_cast<const GemmLargeListArgs<T>*>(arguments)](const Memory& memory, int device) {
      return multiply(s, x, memory, device);
    };
  if (expression.find("gemm_thin<") != std::string::npos)
    return [s = shape_of<GemmThinShape>(expression, "GemmThinShape{"),
            x = *static_cast<const GemmThinArgs<T>*>(arguments)](const Memory& memory, int device) {
      return multiply(s, x, memory, device);
    };
  if (expression.find("gpu_pad_operands<") != std::string::npos)
    return [x = *static_cast<const GemmLargePadArgs<T>*>(arguments)](const Memory& memory, int device) {
      return pad(x.a, memory, device) && pad(x.b, memory, device);
    };
  if (expression.find("layout_convert<") != std::string::npos)
    return [interleaves = expression.find(", true, ") != std::string::npos,
            x = *static_cast<const GpuLayoutOperands*>(arguments)](const Memory& memory, int device) {
      return convert<T>(interleaves, x, memory, device);
    };
  if (expression.find("gpu_scale<") == std::string::npos) return [](const Memory&, int) { return true; };
  const std::size_t first = expression.rfind(", "), second = expression.rfind(", ", first - 1);
  const bool packed = expression.compare(first + 2, 4, "true") == 0;
  const bool zero = expression.compare(second + 2, 4, "true") == 0;
  return [zero, packed, x = *static_cast<const GpuScaleArgs<T>*>(arguments)](
             const Memory& memory, int device) { return scale(zero, packed, x, memory, device); };
}

}  // namespace

unsigned cluster_of(const std::string& expression) {
  constexpr const char* name = ".cluster=";
  const std::size_t at = expression.find(name);
  return at == std::string::npos
             ? 1
             : static_cast<unsigned>(std::atoi(expression.c_str() + at + std::strlen(name)));
}

bool waits_for_launch_before(const std::string& expression) {
  return expression.find(".dependent_launch=true") != std::string::npos ||
         (expression.find("gpu_pad_operands<") != std::string::npos &&
          expression.find(", true>") != std::string::npos);
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

unsigned long long Memory::add(std::size_t bytes, int device) {
  void* base = ::operator new(bytes, alignment);
  std::memset(base, 0xEE, bytes);  // so that no caller relies on zeros
  const auto address = reinterpret_cast<unsigned long long>(base);
  blocks_[address] = {bytes, device, base};
  bytes_[device] += bytes;
  return address;
}
bool Memory::remove(unsigned long long address) {
  const auto it = blocks_.find(address);
  if (it == blocks_.end()) return false;
  ::operator delete(it->second.base, alignment);
  bytes_[it->second.device] -= it->second.bytes;
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
std::size_t Memory::bytes(int device) const {
  const auto known = bytes_.find(device);
  return known == bytes_.end() ? 0 : known->second;
}

Work make_kernel(const std::string& expression, const void* arguments) {
  if (const char* wrong = std::getenv("TILEWRIGHT_FAKE_WRONG");
      wrong != nullptr && expression.find(wrong) != std::string::npos)
    return [](const Memory&, int) { return true; };
  for (const char* name : {"factor_gpu<", "factor_large<", "solve_large<"})
    if (expression.find(name) != std::string::npos) return make_factor_kernel(expression, arguments);
  if (expression.find("::lu_") != std::string::npos) return make_lu_kernel(expression, arguments);
  if (expression.find("gemm_small_total<") != std::string::npos ||
      expression.find(".sums=") != std::string::npos)
    return make_sums_kernel(expression, arguments);
  if (expression.find("Complex<float>") != std::string::npos)
    return typed<std::complex<float>>(expression, arguments);
  if (expression.find("Complex<double>") != std::string::npos)
    return typed<std::complex<double>>(expression, arguments);
  if (expression.find("<float") != std::string::npos) return typed<float>(expression, arguments);
  return typed<double>(expression, arguments);
}

}  // namespace tilewright::fake_cuda
