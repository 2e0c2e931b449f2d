// Keys and distances.
#include "wisdom/key.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "wisdom/families.hpp"

namespace tilewright {
namespace {

// Ranking penalties in the unit of shape_distance. Another tail changes the code more than another size.
constexpr double tail_penalty = 0.25;
// l1 for l2, beta one for general, strided for pointer, another block.
constexpr double relaxed_penalty = 0.4;
constexpr double preference_penalty = 0.001;  // decides only between records that are otherwise equal
constexpr double other_maker_penalty = 0.1;

// Files hold these numbers: a renumbered enum needs another schema version.
static_assert(int(Layout::single) == 0 && int(Layout::strided) == 1 && int(Layout::pointer) == 2 &&
              int(Layout::interleaved) == 3 && int(Layout::block_interleaved) == 4);
static_assert(int(Scalar::zero) == 0 && int(Scalar::one) == 1 && int(Scalar::general) == 2);
static_assert(int(Residency::automatic) == 0 && int(Residency::cold) == 1 && int(Residency::l2) == 2 &&
              int(Residency::l1) == 3);

double log_ratio(std::int64_t x, std::int64_t y) {
  if (x == y) return 0;
  if (x <= 0 || y <= 0) return std::numeric_limits<double>::infinity();
  return std::fabs(std::log(static_cast<double>(x) / static_cast<double>(y)));
}

// True if there are gaps between columns.
bool is_padded(const GemmProblem& p) { return p.lda > p.a_rows() || p.ldb > p.b_rows() || p.ldc > p.m; }
constexpr int padded_bit = 32;
constexpr std::int64_t some_padding = std::int64_t(1) << 30;  // of problems with unknown padding

// The power of ten below, up to 100,000: beyond it all counts are one class.
std::int64_t count_class(std::int64_t count) {
  std::int64_t power = 1;
  while (power < 100000 && power <= count / 10) power *= 10;
  return power;
}

// Replaces c by t for real types.
GemmProblem spelled_once(GemmProblem p) {
  if (is_complex(p.dtype)) return p;
  for (Op* op : {&p.op_a, &p.op_b})
    if (*op == Op::conj_trans) *op = Op::trans;
  return p;
}

}  // namespace

WisdomSubject subject_of(const std::string& text) {
  WisdomSubject subject;
  const std::size_t end = text.find(':');
  if (end == std::string::npos) return subject;
  constexpr std::string_view math = ":math=", many[] = {"_batched", "_batch_reduce", "_stack"};
  subject.operation = text.substr(0, end);
  for (const std::string_view suffix : many)
    if (subject.operation.ends_with(suffix)) {
      subject.operation.resize(subject.operation.size() - suffix.size());
      break;
    }
  std::string rest = text;
  if (const std::size_t at = text.find(math); at != std::string::npos) {
    const std::size_t from = at + math.size(), to = std::min(text.find(':', from), text.size());
    subject.math = text.substr(from, to - from);
    rest.erase(at, to - at);
  }
  if (subject.operation == "gemm") subject.problem = parse_problem(rest);
  return subject;
}

std::string exact_key(const WisdomQuery& query) {
  const GemmProblem& p = query.problem;
  std::string key =
      fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", query.operation, query.math, query.family,
                  query.architecture, to_string(p.dtype), op_pair(spelled_once(p)), p.m, p.n, p.k,
                  to_string(p.layout), to_string(p.beta), to_string(p.residency));
  if (p.layout == Layout::block_interleaved) key += fmt::format(" {}", p.block);
  if (p.sums != Sums::none) key += " " + to_string(p.sums);
  if (p.arrival != Arrival::back_to_back) key += " " + to_string(p.arrival);
  return key;
}

std::string kind_key(const WisdomQuery& query) {
  const GemmProblem& p = query.problem;
  return fmt::format("{} {} {} {} {} {} {} {} {}{}{}", query.operation, query.math, query.family,
                     query.architecture, to_string(p.dtype), op_pair(spelled_once(p)),
                     is_interleaved(p.layout) ? "interleaved" : "apart",
                     p.beta == Scalar::zero ? "writes" : "updates",
                     p.residency == Residency::l1 ? "l2" : to_string(p.residency),
                     p.sums == Sums::none ? "" : " " + to_string(p.sums),
                     p.arrival == Arrival::back_to_back ? "" : " " + to_string(p.arrival));
}

std::string variant_key(const GemmProblem& problem) {
  GemmProblem one = without_levels(spelled_once(problem));
  one.batch_count = problem.location == Location::device ? count_class(problem.batch_count) : 1;
  if (one.layout == Layout::interleaved) one.block = 1;
  GemmProblem plain = one;
  plain.lda = plain.ldb = plain.ldc = plain.stride_a = plain.stride_b = plain.stride_c = 0;
  plain.alpha = Scalar::one;
  plain.location = Location::host;
  return one == packed(plain) ? "" : to_string(one);
}

std::int64_t packed_traits(const GemmProblem& p) {
  return std::int64_t(p.layout) | std::int64_t(p.alpha) << 8 | std::int64_t(p.beta) << 16 |
         std::int64_t(p.residency) << 24 | std::int64_t(is_padded(p)) << padded_bit;
}

void unpack_traits(std::int64_t traits, GemmProblem& p) {
  p.layout = Layout(traits & 0xff);
  p.alpha = Scalar(traits >> 8 & 0xff);
  p.beta = Scalar(traits >> 16 & 0xff);
  p.residency = Residency(traits >> 24 & 0xff);
  p.lda = p.ldb = p.ldc = (traits >> padded_bit & 1) != 0 ? some_padding : 0;
}

bool is_exact(const GemmProblem& x, const GemmProblem& y) {
  return x.m == y.m && x.n == y.n && x.k == y.k && x.layout == y.layout && x.beta == y.beta &&
         x.residency == y.residency && (x.layout != Layout::block_interleaved || x.block == y.block);
}

std::int64_t tail_rows(const GemmProblem& problem, const std::string& architecture) {
  if (is_interleaved(problem.layout)) return 0;
  return problem.m % (vector_bytes(architecture) / size_bytes(problem.dtype));
}

bool fills_alike(const GemmProblem& wanted, const GemmProblem& known, const std::string& architecture) {
  if (wanted.layout != Layout::block_interleaved || wanted.block == known.block) return true;
  const auto whole = [vector = vector_bytes(architecture)](const GemmProblem& p) {
    return p.block * size_bytes(p.dtype) % vector == 0;
  };
  return whole(wanted) && whole(known);
}

double shape_distance(const GemmProblem& x, const GemmProblem& y) {
  return log_ratio(x.m, y.m) + log_ratio(x.n, y.n) + log_ratio(x.k, y.k);
}

double trait_penalty(const GemmProblem& wanted, const GemmProblem& known, const std::string& architecture) {
  double sum = 0;
  if (tail_rows(wanted, architecture) != tail_rows(known, architecture)) sum += tail_penalty;
  if (wanted.residency != known.residency) sum += relaxed_penalty;
  if (wanted.beta != known.beta) sum += relaxed_penalty;
  if (wanted.layout != known.layout) sum += relaxed_penalty;
  if (wanted.layout == Layout::block_interleaved && wanted.block != known.block) sum += relaxed_penalty;
  if (wanted.alpha != known.alpha) sum += preference_penalty;
  if (wanted.location == Location::device) {
    // On a device gaps between columns are other code, and the best block depends on the batch count.
    if (is_padded(wanted) != is_padded(known)) sum += relaxed_penalty;
    sum += preference_penalty * log_ratio(std::max<std::int64_t>(1, wanted.batch_count),
                                          std::max<std::int64_t>(1, known.batch_count));
  }
  return sum;
}

bool is_same_device(const std::string& wanted, const std::string& known) {
  if (wanted == known) return true;
  if (!known.ends_with(')') || known.find(" (family ") == std::string::npos) return false;
  return wanted.starts_with(known.substr(0, known.size() - 1) + ",");
}

double device_penalty(const std::string& wanted, const std::string& known) {
  if (wanted == known) return 0;
  if (is_same_device(wanted, known)) return preference_penalty;
  return wanted.substr(0, wanted.find(' ')) == known.substr(0, known.find(' ')) ? 0 : other_maker_penalty;
}

}  // namespace tilewright
