// Makes the Context and asks its models.
#include "blas/calls.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <memory>
#include <new>

#include "blas/names.hpp"
#include "blas/settings.hpp"
#include "core/host/fork_gate.hpp"
#include "core/host/stack.hpp"
#include "core/input/failure.hpp"

namespace tilewright::blas {
namespace {

// Its storage is of the dynamic kind: libraries that are opened at run time share little of the static kind.
thread_local int depth = 0;

// Returns the path of the library whose CBLAS the program uses, or "" if none is loaded.
std::string cblas_of_program() {
#define TILEWRIGHT_NAME(symbol, ...) #symbol,
  constexpr const char* names[] = {SPELL_cblas_int(TILEWRIGHT_NAME, dgemm, )
                                       SPELL_cblas_long(TILEWRIGHT_NAME, dgemm, ) nullptr};
#undef TILEWRIGHT_NAME
  return find_loaded(names).path;
}

// OpenBLAS has kernels for small real products on AVX-512 machines, and reaches them without overhead.
void find_least_wins() {
  constexpr const char* names[] = {"openblas_get_corename", "scipy_openblas_get_corename64_",
                                   "scipy_openblas_get_corename", "openblas_get_corename64_", nullptr};
  const auto corename = reinterpret_cast<const char* (*)()>(find_loaded(names).address);
  if (corename == nullptr) return;
  constexpr std::array with_kernels{"SkylakeX", "Cooperlake", "SapphireRapids"};
  const std::string core = corename();
  if (std::none_of(with_kernels.begin(), with_kernels.end(), [&](const char* name) { return core == name; }))
    return;
  least_win[std::size_t(DType::f32)] = 17 * 17 * 17;
  least_win[std::size_t(DType::f64)] = 9 * 9 * 9;
}

Context* make_context() {
  find_least_wins();
  try {
    ContextOptions options;
    // A program that does not know tilewright gets no unrequested notices.
    options.notices = settings().verbose >= 2;
    options.cblas = cblas_of_program();
    auto* made = new Context(options);
    // Without generated code there is nothing to win on small products.
    if (made->cpu() != "portable" || settings().mode == Mode::all)
      small_context.store(made, std::memory_order_release);
    return made;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    const auto* own = dynamic_cast<const Error*>(&error);
    if (own != nullptr && own->code() == ErrorCode::out_of_memory) throw;
    complain("calls go to the program's BLAS: " + current_failure().message);
    return nullptr;
  }
}

// If memory runs out, the next call tries again.
Context* context_or_throw() {
  static constinit Once<Context* const> once;
  return once.get([] {
    const Inside scope;
    Context* const made = at_ease(make_context);
    small_decided.store(true, std::memory_order_release);
    return made;
  });
}

}  // namespace

Context* context() noexcept {
  Context* made = nullptr;
  succeeds([&] { return (made = context_or_throw()) != nullptr; });
  return made;
}

void make_plans(const Observed& observed) noexcept {
  try {
    for (const GemmProblem& p : observed.new_problems()) {
      if (std::max({p.m, p.n, p.k}) > small_limit || p.layout == Layout::variable) continue;
      const Inside scope;
      if (Context* const own = context(); own != nullptr) prepare(*own, {&p, 1});
    }
  } catch (const std::exception&) {  // the call reports the error itself
  }
}

bool is_inside() { return depth > 0; }
Inside::Inside() { ++depth; }
Inside::~Inside() { --depth; }

GemmOptions large_options() {
  GemmOptions options;
  options.threads = threads_of_program();
  options.on_device_failure = OnDeviceFailure::redo;
  return options;
}

GemmProblem described(DType dtype, std::int8_t op_a, std::int8_t op_b, std::int64_t m, std::int64_t n,
                      std::int64_t k, std::int64_t lda, std::int64_t ldb, std::int64_t ldc) {
  GemmProblem p;
  p.dtype = dtype;
  p.op_a = Op(op_a);
  p.op_b = Op(op_b);
  p.m = m;
  p.n = n;
  p.k = k;
  p.lda = lda;
  p.ldb = ldb;
  p.ldc = ldc;
  return p;
}

bool may_use_gpus() noexcept {
  if (is_inside() || omp_in_parallel()) return false;
  return succeeds([] {
    static constinit Once<const bool> has_gpus;
    return has_gpus.get([] {
      const Inside scope;
      const Context* const asked = context_or_throw();
      return asked != nullptr && asked->gpu_count() > 0;
    }) && !fork_gate::threads_were_lost();
  });
}

// Each thread caches its recent answers without a plan, also for sizes in the same eighth of an octave:
// factorizations multiply matrices that shrink from call to call, and planning each product would take longer
// than many of them.
bool gpus_win(const GemmProblem& problem) noexcept {
  using Question = std::array<int, 8>;
  struct Answer {
    Question question{};
    bool known = false, wins = false;
  };
  constexpr int place_bits = 8;
  using Answers = std::array<Answer, 1 << place_bits>;
  thread_local std::unique_ptr<Answers>
      kept;  // a pointer, because thread-local memory comes from the stacks of threads
  if (kept == nullptr) kept.reset(new (std::nothrow) Answers);
  if (kept == nullptr) return false;
  const auto cell = [](std::int64_t size) {
    return int(std::floor(8 * std::log2(double(std::max<std::int64_t>(1, size)))));
  };
  const Question question{int(problem.dtype), int(problem.op_a), int(problem.op_b), int(problem.alpha),
                          int(problem.beta),  cell(problem.m),   cell(problem.n),   cell(problem.k)};
  std::uint64_t hash = 0;
  for (const int part : question) hash = (hash + std::uint64_t(part)) * 0x9e3779b97f4a7c15u;
  Answer& answer = (*kept)[hash >> (64 - place_bits)];
  if (answer.known && answer.question == question) return answer.wins;
  const Inside scope;
  answer = {question, true, false};
  answer.known = succeeds([&] {
    answer.wins = plan(*context(), problem, large_options()).uses_gpus();
    return true;
  });  // otherwise the answer is for this problem at this time, not for its neighbours
  return answer.wins;
}

}  // namespace tilewright::blas
