// The fuzzers of bad input: randomly spoiled items, problems and texts must be refused with an Error, never
// crash, and never touch memory that they were not given. The targets of libFuzzer cover files.
#include <fmt/format.h>

#include <limits>

#include "fuzz/fuzzers.hpp"
#include "support/random_call.hpp"
#include "support/trap.hpp"

namespace tilewright::testing {
namespace {

std::uint64_t below(std::mt19937_64& random, std::uint64_t limit) { return random() % limit; }

// Runs `f`, which may throw Error; reports any other outcome.
std::string only_errors(const std::string& text, const std::function<void()>& f) {
  try {
    if (const auto trap = run_trapped(text, f)) return text + ": " + to_string(*trap);
  } catch (const Error& error) {
    return error.what()[0] == '\0' ? text + ": an Error without a message" : "";
  } catch (const std::exception& error) {
    return text + ": threw something else than Error: " + error.what();
  }
  return {};
}

// Spoils one argument of an item and returns the info code that reports it.
int spoil(std::mt19937_64& random, GemmItem<double>& item) {
  const auto bad = [&](std::int64_t least) { return least - 1 - std::int64_t(below(random, 1000)); };
  const bool reads = item.k > 0 && item.alpha != 0;
  switch (below(random, reads ? 9 : 7)) {
    case 0:
      item.m = bad(0);
      return -3;
    case 1:
      item.n = bad(0);
      return -4;
    case 2:
      item.k = bad(0);
      return -5;
    case 3:
      item.lda = bad(item.op_a == Op::none ? item.m : item.k);
      return -8;
    case 4:
      item.ldb = bad(item.op_b == Op::none ? item.k : item.n);
      return -10;
    case 5:
      item.c = nullptr;
      return -12;
    case 6:
      item.ldc = bad(item.m);
      return -13;
    case 7:
      item.a = nullptr;
      return -7;
    default:
      item.b = nullptr;
      return -9;
  }
}

Case random_item(std::mt19937_64& random) {
  Choices x;
  x.layout = Layout::pointer;
  x.op_a = cases::ops[below(random, 3)];
  x.op_b = cases::ops[below(random, 3)];
  x.size = {std::int64_t(1 + below(random, 12)), std::int64_t(1 + below(random, 12)),
            std::int64_t(below(random, 12))};
  x.ld_padding = std::int64_t(below(random, 4));
  x.alpha = scalar_choices[below(random, 3)];
  x.beta = scalar_choices[below(random, 3)];
  x.seed = random();
  return make_case(x);
}

std::int64_t wild_number(std::mt19937_64& random) {
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  constexpr std::array wild{
      std::int64_t(0),       std::int64_t(1),       std::int64_t(-1),      std::int64_t(1) << 31,
      std::int64_t(1) << 32, std::int64_t(1) << 40, std::int64_t(1) << 62, largest,
      -largest - 1,          largest / 8 + 1};
  return below(random, 3) == 0 ? wild[below(random, wild.size())] : std::int64_t(below(random, 100));
}

void change_bytes(std::mt19937_64& random, std::string& text) {
  const std::string_view known = "0123456789-,:=efgmnktc_ \n\x93";
  for (std::uint64_t i = 1 + below(random, 4); i > 0 && !text.empty(); --i) {
    const std::size_t at = below(random, text.size());
    const char byte = below(random, 3) == 0 ? char(random()) : known[below(random, known.size())];
    switch (below(random, 4)) {
      case 0:
        text.erase(at, 1 + below(random, 3));
        break;
      case 1:
        text.insert(at, 1, byte);
        break;
      case 2:
        text.insert(at, text.substr(at, below(random, 6)));
        break;
      default:
        text[at] = byte;
    }
  }
}

}  // namespace

std::string fuzz_arguments(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  static Context context;
  std::vector<Batch<double>> batches;
  std::vector<GemmItem<double>> items;
  std::vector<int> wanted;
  for (std::uint64_t count = 1 + below(random, 12); count > 0; --count) {
    const Batch<double>& x = batches.emplace_back(random_item(random));
    const GemmProblem& q = x.problem();
    items.push_back({q.op_a, q.op_b, q.m, q.n, q.k, x.alpha(0), x.a().pointers()[0], q.lda,
                     x.b().pointers()[0], q.ldb, x.beta(0), x.c().pointers()[0], q.ldc});
    wanted.push_back(below(random, 3) == 0 ? spoil(random, items.back()) : 0);
  }
  std::vector<int> codes(items.size(), 99);
  std::string text =
      fmt::format("variable batch of {} items, codes wanted {}", items.size(), fmt::join(wanted, " "));
  if (const auto trap = run_trapped(text, [&] {
        gemm_variable<double>(context, std::span<const GemmItem<double>>(items), {},
                              {InfoMode::all, codes.data()});
      }))
    return text + ": " + to_string(*trap);
  if (codes != wanted) return text + fmt::format(", got {}", fmt::join(codes, " "));
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const auto left = batches[i].snapshot();
    std::string wrong;
    if (wanted[i] == 0) {
      wrong = batches[i].check();
    } else {
      batches[i].reset();
      if (batches[i].snapshot() != left) wrong = "C of a bad item was written";
    }
    if (!wrong.empty())
      return fmt::format("{}: item {}, {}: {}", text, i, to_string(batches[i].problem()), wrong);
  }
  return {};
}

std::string fuzz_problems(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  static Context context;
  GemmProblem q = random_call(random, 64).parts[0].problem;
  if (below(random, 2) == 0) {
    const std::array<std::int64_t*, 11> fields{&q.m,        &q.n,        &q.k,          &q.lda,
                                               &q.ldb,      &q.ldc,      &q.block,      &q.stride_a,
                                               &q.stride_b, &q.stride_c, &q.batch_count};
    for (std::uint64_t i = 1 + below(random, 3); i > 0; --i)
      *fields[below(random, fields.size())] = wild_number(random);
    return only_errors("plan of " + describe(q), [&] {
      plan(context, q);
      static_cast<void>(explain(context, q));
    });
  }
  const std::string canonical = to_string(q);
  std::string wrong = only_errors(canonical, [&] {
    const GemmProblem back = parse_problem(canonical);
    if (to_string(back) != canonical) throw std::runtime_error("the text comes back as " + to_string(back));
  });
  if (!wrong.empty()) return wrong;
  std::string text = canonical;
  change_bytes(random, text);
  return only_errors("problem text '" + text + "'",
                     [&] { static_cast<void>(explain(context, parse_problem(text))); });
}

}  // namespace tilewright::testing
