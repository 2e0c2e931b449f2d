// A client with lists of products: all of one shape, or of fifty shapes in cyclic and in random order, as
// items and as groups. It compares with OpenBLAS, and with LIBXSMM with a look-up for each product.
#include <random>

#include "client.hpp"

namespace tilewright::clients {
namespace {

struct Shape {
  int m, n, k;
};

// Draws one of `shapes` at random for each of `count` products, in 4 MiB of memory.
void compare(const Cblas& cblas, const char* what, const std::vector<Shape>& shapes, int count, bool sorted) {
  std::mt19937 random(5);
  std::vector<std::size_t> drawn;
  for (int i = 0; i < count; ++i) drawn.push_back(random() % shapes.size());
  if (sorted) std::sort(drawn.begin(), drawn.end());
  std::vector<double> memory(1 << 19, 0.5);
  std::size_t at = 0;
  const auto take = [&](int elements) {
    if (at + std::size_t(elements) > memory.size()) at = 0;
    at += std::size_t(elements);
    return &memory[at - std::size_t(elements)];
  };
  std::vector<GemmItem<double>> items;
  std::vector<Product> products;
  for (const std::size_t which : drawn) {
    const auto [m, n, k] = shapes[which];
    products.push_back({m, n, k, m, k, m, take(m * k), take(k * n), take(m * n)});
    const Product& p = products.back();
    items.push_back({Op::none, Op::none, m, n, k, 1, p.a, m, p.b, k, 1, p.c, m});
  }
  // The same products as groups, one per shape.
  std::vector<std::vector<const double*>> a(shapes.size()), b(shapes.size());
  std::vector<std::vector<double*>> c(shapes.size());
  for (std::size_t i = 0; i < products.size(); ++i) {
    a[drawn[i]].push_back(products[i].a), b[drawn[i]].push_back(products[i].b);
    c[drawn[i]].push_back(products[i].c);
  }
  std::vector<GemmGroup<double>> groups;
  for (std::size_t s = 0; s < shapes.size(); ++s)
    groups.push_back({Op::none, Op::none, shapes[s].m, shapes[s].n, shapes[s].k, 1, a[s].data(), shapes[s].m,
                      b[s].data(), shapes[s].k, 1, c[s].data(), shapes[s].m, std::int64_t(a[s].size())});
  Context context(quiet());
  GemmOptions one_thread;
  one_thread.threads = 1;
  Turns turns;
  turns.add("tilewright gemm_variable", [&] { gemm_variable<double>(context, items, one_thread); });
  turns.add("tilewright gemm_grouped", [&] { gemm_grouped<double>(context, groups, one_thread); });
  turns.add("tilewright gemm", [&] {
    for (const Product& p : products) tilewright_gemm(context, p);
  });
  add_peers(turns, cblas, products);
  (void)turns.seconds(30, count);
  print_case({{"client", "variable_batch"}, {"case", what}, {"products", count}}, turns.seconds(25, count));
}

void run() {
  const Cblas cblas;
  compare(cblas, "4x4", {{4, 4, 4}}, 10000, false);
  compare(cblas, "8x8", {{8, 8, 8}}, 10000, false);
  std::mt19937 random(9);
  std::vector<Shape> fifty;
  const auto size = [&] { return 4 + int(random() % 45); };
  for (int i = 0; i < 50; ++i) fifty.push_back({size(), size(), size()});
  compare(cblas, "50 shapes of 4..48, sorted", fifty, 2000, true);
  compare(cblas, "50 shapes of 4..48, in random order", fifty, 2000, false);
}

}  // namespace
}  // namespace tilewright::clients

int main(int count, char** arguments) {
  tilewright::bench::print_command(count, arguments);
  tilewright::clients::run();
}
