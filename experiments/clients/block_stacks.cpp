// A client with block-sparse matrices: C_ij += A_ik B_kj for lists of small blocks, as DBCSR passes them to
// its kernels, C repeated in runs. It compares with LIBXSMM: its kernel called product by product, and its
// batch-reduce kernel called for each run. All start from the same triples of offsets.
#include <omp.h>

#include <random>

#include "client.hpp"

namespace tilewright::clients {
namespace {

#ifdef TILEWRIGHT_PEER_LIBXSMM
using LoopKernel = libxsmm_dmmfunction;
using ReduceKernel = libxsmm_dmmfunction_reducebatch_addr;
ReduceKernel reduce_kernel(const Product& p) {
  const double one = 1;
  const int flags = LIBXSMM_GEMM_FLAG_NONE, prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
  return libxsmm_dmmdispatch_reducebatch_addr(p.m, p.n, p.k, &p.lda, &p.ldb, &p.ldc, &one, &one, &flags,
                                              &prefetch);
}
LoopKernel loop_kernel(const Product& p) { return libxsmm_kernel(p); }
using Count = unsigned long long;
#else
using LoopKernel = void (*)(const double*, const double*, double*);
using ReduceKernel = void (*)(const double**, const double**, double*, const unsigned long long*);
ReduceKernel reduce_kernel(const Product&) { return nullptr; }
LoopKernel loop_kernel(const Product&) { return nullptr; }
using Count = unsigned long long;
#endif

// The products of one shape, the products of a C in one run, and the beginnings of runs.
struct Stack {
  int m, n, k;
  std::vector<StackOffsets> products;
  std::vector<std::int64_t> runs;
  LoopKernel loop = nullptr;
  ReduceKernel reduce = nullptr;
};

struct Case {
  const char* name;
  std::vector<std::array<int, 3>> shapes;
};

// Blocks of A and B, drawn from two buffers of `elements`, and blocks of C, each with one run of products, in
// the order in which they lie.
class Blocks {
 public:
  explicit Blocks(std::size_t elements) : a_(elements, 0.5), b_(elements, 0.25) {}

  Stack draw(const std::array<int, 3>& shape, std::int64_t runs, int run) {
    Stack s{shape[0], shape[1], shape[2], {}, {}};
    const auto block = [&](std::int64_t size) {
      return std::int64_t(random_() % (a_.size() / std::uint64_t(size))) * size;
    };
    for (std::int64_t r = 0; r < runs; ++r) {
      s.runs.push_back(std::int64_t(s.products.size()));
      const std::int64_t c = first_c(shape) + r * s.m * s.n;
      for (int i = 0; i < run; ++i) s.products.push_back({block(s.m * s.k), block(s.k * s.n), c});
      c_.resize(std::max(c_.size(), std::size_t(c + s.m * s.n)));
    }
    s.runs.push_back(std::int64_t(s.products.size()));
    const Product p{s.m, s.n, s.k, s.m, s.k, s.m, nullptr, nullptr, nullptr};
    s.loop = loop_kernel(p);
    s.reduce = reduce_kernel(p);
    return s;
  }

  GemmStack<double> stack_of(const Stack& s) {
    return {Op::none,
            Op::none,
            1.0,
            {a_.data(), s.m, s.k, s.m},
            {b_.data(), s.k, s.n, s.k},
            {c_.data(), s.m, s.n, s.m},
            std::span<const StackOffsets>(s.products)};
  }

  // Multiplies runs first ... last - 1.
  void loop(const Stack& s, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = s.runs[std::size_t(first)]; i < s.runs[std::size_t(last)]; ++i) {
      const StackOffsets& x = s.products[std::size_t(i)];
      s.loop(&a_[std::size_t(x.a)], &b_[std::size_t(x.b)], &c_[std::size_t(x.c)]);
    }
  }
  void reduce(const Stack& s, std::int64_t first, std::int64_t last) {
    const double *as[64], *bs[64];
    for (std::int64_t r = first; r < last; ++r) {
      const std::int64_t begin = s.runs[std::size_t(r)];
      const Count count = Count(s.runs[std::size_t(r) + 1] - begin);
      for (Count i = 0; i < count; ++i) {
        const StackOffsets& x = s.products[std::size_t(begin) + i];
        as[i] = &a_[std::size_t(x.a)], bs[i] = &b_[std::size_t(x.b)];
      }
      s.reduce(as, bs, &c_[std::size_t(s.products[std::size_t(begin)].c)], &count);
    }
  }

 private:
  // Stacks with other k add to the same blocks, those with other m and n to others.
  std::int64_t first_c(const std::array<int, 3>& shape) {
    const auto [at, is_new] = firsts_.try_emplace({shape[0], shape[1]}, std::int64_t(c_.size()));
    return at->second;
  }

  std::vector<double> a_, b_, c_;
  std::map<std::pair<int, int>, std::int64_t> firsts_;
  std::mt19937_64 random_{41};
};

constexpr const char* two_threads = ", 2 threads";
constexpr double least_units = 10000;  // least number of products per sample

// Measures the contenders alternately; medians of seconds: CPU time of one thread, and wall time of two.
// "wall" is tilewright's wall time with one thread, for comparison with two.
std::map<std::string, double> in_turns(const std::vector<std::pair<std::string, std::function<void()>>>& all,
                                       int rounds, double units) {
  std::map<std::string, std::vector<double>> samples;
  for (int round = -1; round < rounds; ++round)
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto& [name, run] = all[(i + std::size_t(round + 1)) % all.size()];
      const double cpu = thread_cpu_seconds(), wall = wall_seconds();
      for (double done = 0; done < least_units; done += units) run();
      const double calls = std::ceil(least_units / units);
      const double cpu_s = (thread_cpu_seconds() - cpu) / calls, wall_s = (wall_seconds() - wall) / calls;
      if (round < 0) continue;
      samples[name].push_back((name.ends_with(two_threads) ? wall_s : cpu_s) / units);
      if (name == "tilewright") samples["wall"].push_back(wall_s / units);
    }
  std::map<std::string, double> medians;
  for (const auto& [name, values] : samples) medians[name] = median(values);
  return medians;
}

// Prints a line for one thread and one for two.
void print_results(nlohmann::json line, const std::map<std::string, double>& seconds) {
  for (const int threads : {1, 2}) {
    std::map<std::string, double> of_count;
    for (const auto& [name, s] : seconds)
      if (name != "wall" && name.ends_with(two_threads) == (threads == 2)) of_count[name] = s;
    line["threads"] = threads;
    if (threads == 2)
      line["over_one_thread"] =
          std::round(seconds.at("wall") / seconds.at("tilewright, 2 threads") * 1000) / 1000;
    print_case(line, of_count);
  }
}

void measure(const Case& one, const char* memory, std::size_t elements, int run) {
  constexpr std::int64_t most_products = 20000;
  constexpr int rounds = 15;
  Blocks blocks(elements);
  std::vector<Stack> stacks;
  std::vector<GemmStack<double>> tested;
  for (const auto& shape : one.shapes) {
    // There are as many C as the wanted products need, but no more than fit into as much memory as A and B
    // take.
    const auto fitting = std::int64_t(2 * elements / one.shapes.size()) / (shape[0] * shape[1]);
    const std::int64_t wanted = most_products / std::int64_t(one.shapes.size()) / run;
    stacks.push_back(blocks.draw(shape, std::max<std::int64_t>(1, std::min(fitting, wanted)), run));
  }
  double units = 0;
  for (const Stack& s : stacks) tested.push_back(blocks.stack_of(s)), units += double(s.products.size());
  Context context(quiet());
  std::vector<std::pair<std::string, std::function<void()>>> all;
  for (const int threads : {1, 2}) {
    GemmOptions options;
    options.threads = threads;
    const std::string suffix = threads == 1 ? "" : two_threads;
    all.emplace_back("tilewright" + suffix,
                     [&, options] { gemm_stack<double>(context, tested, 1.0, options); });
    if (!has_libxsmm) continue;
    const auto by_threads = [&stacks, threads](auto&& work) {
      for (const Stack& s : stacks) {
        const auto runs = std::int64_t(s.runs.size()) - 1;
        if (threads == 1) {
          work(s, std::int64_t(0), runs);
          continue;
        }
#pragma omp parallel num_threads(2)
        {
          const std::int64_t half = omp_get_thread_num();
          work(s, runs * half / 2, runs * (half + 1) / 2);
        }
      }
    };
    all.emplace_back("libxsmm loop" + suffix, [&, by_threads] {
      by_threads([&](const Stack& s, std::int64_t first, std::int64_t last) { blocks.loop(s, first, last); });
    });
    all.emplace_back("libxsmm batch-reduce" + suffix, [&, by_threads] {
      by_threads(
          [&](const Stack& s, std::int64_t first, std::int64_t last) { blocks.reduce(s, first, last); });
    });
  }
  print_results({{"client", "block_stacks"}, {"case", one.name}, {"operands", memory}, {"run", run}},
                in_turns(all, rounds, units));
}

void run() {
  std::vector<std::array<int, 3>> mixed;
  for (const int m : {5, 13, 23})
    for (const int n : {5, 13, 23})
      for (const int k : {5, 13, 23}) mixed.push_back({m, n, k});
  const Case cases[] = {{"13", {{13, 13, 13}}}, {"23", {{23, 23, 23}}}, {"5, 13, 23 mixed", mixed}};
  for (const auto& [memory, elements] :
       {std::pair{"in cache", std::size_t(1) << 14}, std::pair{"in memory", std::size_t(1) << 24}})
    for (const Case& one : cases)
      for (const int length : {1, 2, 5, 10, 20, 50}) measure(one, memory, elements, length);
}

}  // namespace
}  // namespace tilewright::clients

int main(int count, char** arguments) {
  tilewright::bench::print_command(count, arguments);
  tilewright::clients::run();
}
