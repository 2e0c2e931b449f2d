// Variable batches in device memory for tests: sizes, pointers, alphas and betas that only the device knows,
// bad problems among good ones.
#pragma once

#include "support/gpu_calls.hpp"
#include "support/gpu_fixture.hpp"

namespace tilewright::testing {

// Which scalars come as a value per problem.
struct Varies {
  bool alpha, beta;
};

template <class T>
struct Call {
  Op op_a = Op::none, op_b = Op::none;
  std::int64_t most = 16;
  Varies varies{false, false};
  T alpha = T(1), beta = T(0);  // of those that do not vary
  bool faults = false;
};

template <class T>
class Source {
 public:
  explicit Source(std::uint64_t seed) : random_(seed) {}

  std::int64_t below(std::int64_t n) { return std::int64_t(random_() % std::uint64_t(n)); }

  std::vector<Item<T>> items(const Call<T>& call, std::int64_t count) {
    std::vector<Item<T>> all;
    for (std::int64_t q = 0; q < count; ++q) {
      Item<T> x{call.op_a, call.op_b, below(call.most + 1), below(call.most + 1), below(call.most + 1),
                below(3)};
      x.alpha = call.varies.alpha ? scalar() : call.alpha;
      x.beta = call.varies.beta ? scalar() : call.beta;
      if (call.faults && below(3) == 0) {
        x.m = x.n = x.k = call.most / 2;  // a problem of no elements has nothing that could be wrong
        if (call.varies.alpha && x.alpha == T(0)) x.alpha = T(1);
        const bool reads_ab = x.alpha != T(0);  // else null A and B are no faults
        x.fault = reads_ab ? ItemFault(1 + below(6)) : ItemFault(3 + below(4));
      }
      all.push_back(x);
    }
    return all;
  }
  T scalar() { return T(std::vector<double>{0, 1, -0.75, 2}[std::size_t(below(4))]); }

 private:
  std::mt19937_64 random_;
};

template <class T>
VariableBatch<T> batch_of(GpuItems<T>& items, const Call<T>& call) {
  const VariableSizes s = items.sizes();
  VariableBatch<T> x;
  x.op_a = call.op_a, x.op_b = call.op_b;
  x.max_m = x.max_n = x.max_k = call.most;
  x.m = s.m, x.n = s.n, x.k = s.k, x.lda = s.lda, x.ldb = s.ldb, x.ldc = s.ldc;
  x.a = items.a(), x.b = items.b(), x.c = items.c();
  x.alpha = call.alpha, x.beta = call.beta;
  if (call.varies.alpha) x.alpha = BatchScalar<T, Location::device>(items.alphas());
  if (call.varies.beta) x.beta = BatchScalar<T, Location::device>(items.betas());
  x.count = items.count();
  return x;
}

class GpuVariable : public GpuTest {
 protected:
  // "" when the codes are those of the items' faults.
  template <class T>
  static std::string compare(const GpuItems<T>& items, const std::vector<int>& codes) {
    for (std::int64_t q = 0; q < items.count(); ++q)
      if (codes[std::size_t(q)] != code_of(items.item(q).fault))
        return fmt::format("the code of problem {} is {} and must be {}", q, codes[std::size_t(q)],
                           code_of(items.item(q).fault));
    return "";
  }

  template <class T>
  std::string run_variable(const Call<T>& call, std::int64_t count) {
    GpuItems<T> items(*gpu_, source<T>().items(call, count), ++seed_);
    const GpuCodes codes(*gpu_, count);
    gemm_variable<T>(context_, batch_of(items, call), options_, {InfoMode::all, codes.device()});
    gpu_->synchronize();
    if (auto wrong = items.check(); !wrong.empty()) return wrong;
    return compare(items, codes.read());
  }
  template <class T>
  Source<T> source() {
    return Source<T>(++seed_);
  }

  Context context_{{.notices = false}};
  std::uint64_t seed_ = 0;
};

}  // namespace tilewright::testing
