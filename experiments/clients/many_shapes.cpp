// A client whose products have many shapes, like blocks of sparse matrices and frontal matrices: every call
// has another shape, met for the first time, again, or never twice. It compares with OpenBLAS, and with
// LIBXSMM called as programs do that keep no kernels.
#include <random>

#include "client.hpp"

namespace tilewright::clients {
namespace {

// Products whose operands lie one after the other in `elements` of memory, wrapping at its end.
class Products {
 public:
  Products(std::size_t elements, unsigned seed) : memory_(elements), random_(seed) {
    for (double& x : memory_) x = 0.5 + double(random_() % 1024) / 2048;
  }

  std::vector<Product> draw(int count, int smallest, int largest) {
    std::uniform_int_distribution<int> size(smallest, largest);
    std::vector<Product> all;
    for (int i = 0; i < count; ++i) {
      Product p{size(random_), size(random_), size(random_), 0, 0, 0, nullptr, nullptr, nullptr};
      p.lda = p.m, p.ldb = p.k, p.ldc = p.m;
      p.a = take(p.m * p.k), p.b = take(p.k * p.n), p.c = take(p.m * p.n);
      all.push_back(p);
    }
    return all;
  }

 private:
  double* take(int elements) {
    if (at_ + std::size_t(elements) > memory_.size()) at_ = 0;
    at_ += std::size_t(elements);
    return &memory_[at_ - std::size_t(elements)];
  }

  std::vector<double> memory_;
  std::mt19937 random_;
  std::size_t at_ = 0;
};

constexpr int count = 10000, smallest = 4, largest = 48;

std::vector<GemmItem<double>> items_of(const std::vector<Product>& products) {
  std::vector<GemmItem<double>> items;
  for (const Product& p : products)
    items.push_back({Op::none, Op::none, p.m, p.n, p.k, 1, p.a, p.lda, p.b, p.ldb, 1, p.c, p.ldc});
  return items;
}

nlohmann::json line_of(const char* what, const char* memory) {
  return {{"client", "many_shapes"}, {"case", what}, {"operands", memory}, {"products", count}};
}

GemmOptions one_thread() {
  GemmOptions options;
  options.threads = 1;
  return options;
}

// Runs shapes that are new to the Context; LIBXSMM keeps its kernels for the process, so it does not take
// part.
void first_pass(const Cblas& cblas, const char* memory, const std::vector<Product>& products) {
  const auto items = items_of(products);
  Turns turns;
  turns.add("tilewright gemm", [&] {
    Context context(quiet());
    for (const Product& p : products) tilewright_gemm(context, p);
  });
  turns.add("tilewright gemm_variable", [&] {
    Context context(quiet());
    gemm_variable<double>(context, items, one_thread());
  });
  if (cblas)
    turns.add("openblas", [&] {
      for (const Product& p : products) cblas(p);
    });
  print_case(line_of("first pass", memory), turns.seconds(9, count));
}

void later_pass(const Cblas& cblas, const char* memory, const std::vector<Product>& products) {
  const auto items = items_of(products);
  Context context(quiet());
  Turns turns;
  turns.add("tilewright gemm", [&] {
    for (const Product& p : products) tilewright_gemm(context, p);
  });
  turns.add("tilewright gemm_variable", [&] { gemm_variable<double>(context, items, one_thread()); });
  add_peers(turns, cblas, products);
  (void)turns.seconds(1, count);
  print_case(line_of("later passes", memory), turns.seconds(9, count));
}

// Calls with 500 problems of shapes that were never met before.
void fresh_sets(const Cblas& cblas, const char* memory, Products& source) {
  constexpr int rounds = 15, of_a_call = 500;
  std::map<std::string, std::vector<double>> samples;
  Context context(quiet());
  for (int round = 0; round < rounds; ++round) {
    const auto products = source.draw(of_a_call, smallest, largest);
    const auto items = items_of(products);
    Turns turns;
    turns.add("tilewright gemm_variable", [&] { gemm_variable<double>(context, items, one_thread()); });
    if (cblas)
      turns.add("openblas", [&] {
        for (const Product& p : products) cblas(p);
      });
    for (const auto& [name, s] : turns.seconds(1, of_a_call, round)) samples[name].push_back(s);
  }
  std::map<std::string, double> seconds;
  for (const auto& [name, values] : samples) seconds[name] = median(values);
  print_case(line_of("fresh sets of 500", memory), seconds);
}

// Calls strided batches of 125 shapes whose counts differ from call to call.
void fresh_counts(const Cblas& cblas) {
  constexpr int rounds = 41, most = 100;
  std::mt19937 random(7);
  std::vector<double> a(64 * most, 0.5), b(64 * most, 0.25), c(64 * most);
  Context context(quiet());
  std::map<std::string, std::vector<double>> samples;
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::pair<Product, int>> batches;
    double problems = 0;
    for (int m = 4; m <= 8; ++m)
      for (int n = 4; n <= 8; ++n)
        for (int k = 4; k <= 8; ++k) {
          batches.push_back({{m, n, k, m, k, m, a.data(), b.data(), c.data()}, 1 + int(random() % most)});
          problems += batches.back().second;
        }
    const auto each = [&](auto&& multiply) {
      for (const auto& [p, batch] : batches)
        for (int i = 0; i < batch; ++i) {
          Product one = p;
          one.a += i * p.m * p.k, one.b += i * p.k * p.n, one.c += i * p.m * p.n;
          multiply(one);
        }
    };
    Turns turns;
    turns.add("tilewright gemm_batched", [&] {
      for (const auto& [p, batch] : batches)
        gemm_batched<double>(context, Op::none, Op::none, 1.0,
                             StridedBatch<const double>{{p.a, p.m, p.k, p.lda}, p.m * p.k, batch},
                             StridedBatch<const double>{{p.b, p.k, p.n, p.ldb}, p.k * p.n, batch}, 1.0,
                             StridedBatch<double>{{p.c, p.m, p.n, p.ldc}, p.m * p.n, batch}, one_thread());
    });
    if (cblas) turns.add("openblas", [&] { each(cblas); });
    if (has_libxsmm) turns.add("libxsmm dispatch", [&] { each(libxsmm_dispatch_and_call); });
    for (const auto& [name, s] : turns.seconds(1, problems, round)) samples[name].push_back(s);
  }
  std::map<std::string, double> seconds;
  for (const auto& [name, values] : samples) seconds[name] = median(values);
  print_case({{"client", "many_shapes"}, {"case", "125 shapes 4..8, fresh counts"}}, seconds);
}

// Runs loops and lists of small products whose shapes are drawn anew for every round from `shapes` of them,
// as block-sparse programs meet them; operands stay in cache.
void random_orders(const Cblas& cblas, int shapes, int low, int high) {
  constexpr int of_a_call = 2000, rounds = 41;
  Products source(std::size_t(1) << 14, 31);
  const auto known = source.draw(shapes, low, high);
  std::mt19937 random(5);
  Context context(quiet());
  std::map<std::string, std::vector<double>> samples;
  for (int round = 0; round < rounds; ++round) {
    std::vector<Product> products;
    for (int i = 0; i < of_a_call; ++i) products.push_back(known[random() % known.size()]);
    const auto items = items_of(products);
    std::vector<GemmGroup<double>> groups;
    for (const auto& x : items)
      groups.push_back(
          {x.op_a, x.op_b, x.m, x.n, x.k, x.alpha, &x.a, x.lda, &x.b, x.ldb, x.beta, &x.c, x.ldc, 1});
    Turns turns;
    turns.add("tilewright gemm", [&] {
      for (const Product& p : products) tilewright_gemm(context, p);
    });
    turns.add("tilewright gemm_variable", [&] { gemm_variable<double>(context, items, one_thread()); });
    turns.add("tilewright gemm_grouped", [&] { gemm_grouped<double>(context, groups, one_thread()); });
    add_peers(turns, cblas, products);
    for (const auto& [name, s] : turns.seconds(1, of_a_call, round)) samples[name].push_back(s);
  }
  std::map<std::string, double> seconds;
  for (const auto& [name, values] : samples) seconds[name] = median(values);
  print_case({{"client", "many_shapes"},
              {"case", "random orders"},
              {"shapes", shapes},
              {"low", low},
              {"high", high}},
             seconds);
}

// Measures calls with new counts, leading dimensions or strides of a known shape; for tilewright alone.
void never_seen() {
  constexpr int n = 8, known = 4, rounds = 125;
  std::vector<double> memory(3 << 12, 0.5);
  double *a = memory.data(), *b = a + (1 << 12), *c = b + (1 << 12);
  Context context(quiet());
  const auto call = [&](int batch, int lda, int ldb, int ldc, int stride) {
    gemm_batched<double>(context, Op::none, Op::none, 1.0,
                         StridedBatch<const double>{{a, n, n, lda}, stride, batch},
                         StridedBatch<const double>{{b, n, n, ldb}, stride, batch}, 1.0,
                         StridedBatch<double>{{c, n, n, ldc}, stride, batch}, one_thread());
  };
  constexpr int wide = 13 * n;
  for (int i = 0; i < 20000; ++i) call(known, n, n, n, n * n), call(known, n, n, n, wide);
  std::map<std::string, std::vector<double>> samples;
  const auto sample = [&](const char* name, int batch, int lda, int ldb, int ldc, int stride) {
    const double before = thread_cpu_seconds();
    call(batch, lda, ldb, ldc, stride);
    samples[name].push_back(thread_cpu_seconds() - before);
  };
  for (int i = 0; i < rounds; ++i) {
    sample("tilewright known", known, n, n, n, wide);
    sample("tilewright never-seen count", 2 + i % 3, n, n, n, wide);
    sample("tilewright never-seen lds", known, n + 1 + i / 25, n + 1 + i / 5 % 5, n + 1 + i % 5, wide);
    sample("tilewright never-seen stride", known, n, n, n, wide + 1 + i);
  }
  std::map<std::string, double> seconds;
  for (const auto& [name, values] : samples) seconds[name] = median(values);
  print_case({{"client", "many_shapes"},
              {"case", "4 problems of 8, one thing never seen; the clock's call included"}},
             seconds);
}

void run() {
  const Cblas cblas;
  for (const int shapes : {4, 8, 16, 24, 32, 50, 125}) random_orders(cblas, shapes, 4, 8);
  for (const auto& [shapes, low, high] : {std::tuple{50, 1, 8}, {125, 1, 8}, {1700, 4, 16}, {9500, 4, 48}})
    random_orders(cblas, shapes, low, high);
  for (const auto& [memory, elements] :
       {std::pair{"in cache", std::size_t(1) << 15}, std::pair{"in memory", std::size_t(1) << 25}}) {
    Products source(elements, 29);
    const auto products = source.draw(count, smallest, largest);
    first_pass(cblas, memory, products);
    later_pass(cblas, memory, products);
    fresh_sets(cblas, memory, source);
  }
  fresh_counts(cblas);
  never_seen();
}

}  // namespace
}  // namespace tilewright::clients

int main(int count, char** arguments) {
  tilewright::bench::print_command(count, arguments);
  tilewright::clients::run();
}
