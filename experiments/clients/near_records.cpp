// Measures whether a record for one shape helps or hurts the shapes near it: random pairs of shapes, one
// tuned, the other planned with that record alone and without any. Both kernels run the same batch
// alternately. Arguments: pairs (1000), seconds of tuning each (0.3), seed (1).
#include <filesystem>
#include <fstream>
#include <random>

#include "client.hpp"
#include "tilewright/tune.hpp"

namespace tilewright::clients {
namespace {

namespace fs = std::filesystem;

struct Pair {
  GemmProblem tuned, asked;
};

std::int64_t l1_elements(const GemmProblem& p) { return p.m * p.k + p.k * p.n + p.m * p.n; }

GemmProblem in_l1(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k, Scalar beta) {
  GemmProblem p;
  p.dtype = dtype;
  p.m = m, p.n = n, p.k = k;
  p.layout = Layout::strided;
  p.beta = beta;
  p.residency = Residency::l1;
  constexpr std::int64_t bytes = 24 << 10;
  const std::int64_t each = l1_elements(p) * (dtype == DType::f32 ? 4 : 8);
  p.batch_count = std::max<std::int64_t>(1, bytes / each);
  return packed(p);
}

// Draws a shape of sizes 2 to 32, a third of them cubes, and one whose sizes differ by up to a factor of two
// in all.
Pair draw(std::mt19937& random) {
  std::uniform_int_distribution<int> size(2, 32), coin(0, 2);
  std::uniform_real_distribution<double> step(-0.5, 0.5);
  const DType dtype = coin(random) == 0 ? DType::f32 : DType::f64;
  const Scalar beta = coin(random) == 0 ? Scalar::zero : Scalar::one;
  const bool cube = coin(random) == 0;
  const int m = size(random), n = cube ? m : size(random), k = cube ? m : size(random);
  for (int tries = 0; tries < 50; ++tries) {
    int other[3] = {m, n, k};
    double apart = 0;
    for (int i = 0; i < (cube ? 1 : 3); ++i) {
      const int before = other[i];
      other[i] = std::clamp(int(std::lround(before * std::exp(step(random)))), 1, 40);
      apart += std::fabs(std::log(double(other[i]) / before)) * (cube ? 3 : 1);
    }
    if (cube) other[1] = other[2] = other[0];
    if (apart == 0 || apart >= 0.69) continue;
    return {in_l1(dtype, m, n, k, beta), in_l1(dtype, other[0], other[1], other[2], beta)};
  }
  return draw(random);  // the smallest cubes have no shape this near
}

template <class T>
class Batch {
 public:
  explicit Batch(const GemmProblem& p)
      : problem_(p),
        a_(std::size_t(p.m * p.k * p.batch_count), T(0.5)),
        b_(std::size_t(p.k * p.n * p.batch_count), T(0.25)),
        c_(std::size_t(p.m * p.n * p.batch_count)) {}
  std::function<void()> loop(const GemmPlan& plan) {
    const double work = 2.0 * double(problem_.m * problem_.n * problem_.k * problem_.batch_count);
    const int calls = std::max(3, int(1e7 / (work + 2000)));
    return [this, &plan, calls] {
      const T beta = problem_.beta == Scalar::zero ? T(0) : T(1);
      for (int i = 0; i < calls; ++i) plan.run<T>(T(1), a_.data(), b_.data(), beta, c_.data());
    };
  }

 private:
  GemmProblem problem_;
  std::vector<T> a_, b_, c_;
};

// Returns the default's time over that of the record's config.
template <class T>
double gain(const GemmProblem& problem, const GemmPlan& carried, const GemmPlan& standard) {
  Batch<T> batch(problem);
  Turns turns;
  turns.add("carried", batch.loop(carried));
  turns.add("default", batch.loop(standard));
  (void)turns.seconds(2, 1);
  const auto seconds = turns.seconds(15, 1);
  return seconds.at("default") / seconds.at("carried");
}

// Returns the plan's description of its config, without the lines that tell its origin.
std::string config_of(const GemmPlan& plan) {
  const std::string text = plan.explain();
  const std::size_t at = text.find("config");
  return at == std::string::npos ? text : text.substr(at, text.find('\n', at) - at);
}

struct Sums {
  double logs = 0, least = 1e9;
  int pairs = 0, carried = 0, below = 0;
  void add(double ratio) {
    ++pairs;
    logs += std::log(ratio);
    least = std::min(least, ratio);
    below += ratio < 0.92 ? 1 : 0;
  }
};

void compare(const Pair& pair, double budget_s, const std::string& folder, Sums& sums) {
  const std::string wisdom = folder + "/wisdom.sqlite";
  for (const auto& file : fs::directory_iterator(folder)) fs::remove(file);
  {
    Context tuning({.wisdom = wisdom, .notices = false});
    tune(tuning, pair.tuned, {.budget_s = budget_s});
  }
  Context knowing({.wisdom = wisdom, .notices = false});
  Context without({.use_wisdom = false, .notices = false});
  const GemmPlan carried = plan(knowing, pair.asked), standard = plan(without, pair.asked);
  const bool differs = config_of(carried) != config_of(standard);
  double ratio = 1;
  if (differs)
    ratio = pair.asked.dtype == DType::f32 ? gain<float>(pair.asked, carried, standard)
                                           : gain<double>(pair.asked, carried, standard);
  sums.carried += differs ? 1 : 0;
  sums.add(ratio);
  fmt::print("{}\n", nlohmann::json{{"client", "near_records"},
                                    {"tuned", to_string(pair.tuned)},
                                    {"problem", to_string(pair.asked)},
                                    {"carried", differs},
                                    {"gain", std::round(ratio * 1000) / 1000}}
                         .dump());
  std::fflush(stdout);
}

int run(int pairs, double budget_s, unsigned seed) {
  std::string folder = (fs::temp_directory_path() / "tilewright_near_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  setenv("TILEWRIGHT_SHARE", folder.c_str(), 1);  // disables the shipped wisdom
  std::mt19937 random(seed);
  Sums sums;
  for (int i = 0; i < pairs; ++i) compare(draw(random), budget_s, folder, sums);
  fs::remove_all(folder);
  fmt::print("{}\n", nlohmann::json{{"client", "near_records"},
                                    {"summary", true},
                                    {"pairs", sums.pairs},
                                    {"carried", sums.carried},
                                    {"geomean", std::exp(sums.logs / std::max(1, sums.pairs))},
                                    {"least", sums.least},
                                    {"below_0.92", sums.below}}
                         .dump());
  return 0;
}

}  // namespace
}  // namespace tilewright::clients

int main(int argc, char** argv) {
  tilewright::bench::print_command(argc, argv);
  const int pairs = argc > 1 ? std::atoi(argv[1]) : 1000;
  const double budget_s = argc > 2 ? std::atof(argv[2]) : 0.3;
  return tilewright::clients::run(pairs, budget_s, argc > 3 ? unsigned(std::atoi(argv[3])) : 1);
}
