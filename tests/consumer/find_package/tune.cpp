// Uses what the tuner's library shows, from C++ and C, with the database that is named first. It checks that
// what was learned is found by the library that the calls are in, and that errors cross both boundaries.
#include <tilewright/tilewright_tune.h>

#include <cstdio>
#include <tilewright/gemm.hpp>
#include <tilewright/tune.hpp>

namespace tw = tilewright;

int main(int, char** arguments) {
  tw::Context context({.wisdom = arguments[1], .notices = false});
  const auto problem = tw::parse_problem("gemm_batched:f64:nn:m=3,n=3,k=3:strided:batch=9:residency=l1");
  if (tw::tune(context, problem, {.budget_s = 0.1}).wisdom != arguments[1]) return 1;
  if (tw::explain(context, problem).find("exact") == std::string::npos) return 2;
  auto other = tw::parse_problem("gemm_batched:f32:nn:m=3,n=3,k=3:strided:batch=9:residency=l1");
  const tw::GemmOptions on_miss{.tune_on_miss_s = 0.1};
  try {
    (void)tw::plan(context, other, on_miss);
    return 3;
  } catch (const tw::Error& error) {
    std::printf("without a tuner: %s\n", error.what());
  }
  tw::install_tuner(context);
  if (tw::plan(context, other, on_miss).explain().find("exact") == std::string::npos) return 4;
  try {
    (void)tw::tune(context, problem, tw::tune_search("time", "annealing"));
    return 5;
  } catch (const tw::Error& error) {
    std::printf("ok; a bad strategy says: %s\n", error.what());
  }
  return tilewright_install_tuner(nullptr) == TILEWRIGHT_INVALID_ARGUMENT ? 0 : 6;
}
