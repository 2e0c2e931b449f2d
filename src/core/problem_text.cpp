// Writes and reads the canonical text of a GemmProblem, family:dtype:ops:sizes[:layout][:key=value]... It
// checks the grammar only; plans may still refuse a problem that can be read.
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/problem.hpp"
#include "core/quantity.hpp"
#include "core/unbuilt.hpp"

namespace tilewright {
namespace {

// The fields of the text that hold integers, in the order they are printed.
struct IntegerKey {
  const char* name;
  std::int64_t GemmProblem::*member;
};
constexpr std::array integer_keys{IntegerKey{"batch", &GemmProblem::batch_count},
                                  IntegerKey{"run", &GemmProblem::run},
                                  IntegerKey{"block", &GemmProblem::block},
                                  IntegerKey{"lda", &GemmProblem::lda},
                                  IntegerKey{"ldb", &GemmProblem::ldb},
                                  IntegerKey{"ldc", &GemmProblem::ldc},
                                  IntegerKey{"stride_a", &GemmProblem::stride_a},
                                  IntegerKey{"stride_b", &GemmProblem::stride_b},
                                  IntegerKey{"stride_c", &GemmProblem::stride_c},
                                  IntegerKey{"outer", &GemmProblem::outer_count},
                                  IntegerKey{"outer_a", &GemmProblem::outer_a},
                                  IntegerKey{"outer_b", &GemmProblem::outer_b},
                                  IntegerKey{"outer_c", &GemmProblem::outer_c},
                                  IntegerKey{"outermost", &GemmProblem::outermost_count},
                                  IntegerKey{"outermost_a", &GemmProblem::outermost_a},
                                  IntegerKey{"outermost_b", &GemmProblem::outermost_b},
                                  IntegerKey{"outermost_c", &GemmProblem::outermost_c}};
constexpr std::array<std::string_view, 4> other_keys{"alpha", "beta", "residency", "location"};
constexpr std::array all_keys = [] {
  std::array<std::string_view, integer_keys.size() + other_keys.size()> all;
  std::size_t count = 0;
  for (const IntegerKey& key : integer_keys) all[count++] = key.name;
  for (const std::string_view name : other_keys) all[count++] = name;
  return all;
}();
constexpr std::array size_keys{IntegerKey{"m", &GemmProblem::m}, IntegerKey{"n", &GemmProblem::n},
                               IntegerKey{"k", &GemmProblem::k}};

// The first word of the text.
struct FamilyName {
  const char* name;
  Sums sums;
  Layout layout;  // the default layout
};
constexpr std::array family_names{FamilyName{"gemm", Sums::none, Layout::single},
                                  FamilyName{"gemm_batched", Sums::none, Layout::strided},
                                  FamilyName{"gemm_batch_reduce", Sums::batch_reduce, Layout::strided},
                                  FamilyName{"gemm_stack", Sums::stack, Layout::pointer}};

const FamilyName& family_of(const GemmProblem& p) {
  const bool single = p.layout == Layout::single && p.sums == Sums::none;
  return *std::find_if(family_names.begin(), family_names.end(), [&](const FamilyName& family) {
    return family.sums == p.sums && (family.layout == Layout::single) == single;
  });
}

bool is_of_strided(std::string_view key) { return key.starts_with("stride_") || key.starts_with("outer"); }

// True if the key applies to the problem: blocks to interleaved batches, strides and levels to strided ones
// (sums have one level, and their one C no stride), runs to stacks, the other keys to all problems.
bool has_meaning(const IntegerKey& key, const GemmProblem& p) {
  const std::string_view name = key.name;
  if (name == "block") return p.layout == Layout::interleaved || p.layout == Layout::block_interleaved;
  if (name == "run") return p.sums == Sums::stack;
  if (p.sums != Sums::none && (name == "stride_c" || name.starts_with("outer"))) return false;
  return p.layout == Layout::strided || !is_of_strided(name);
}

// Returns the default stride of an outer level, which depends on the levels within; nothing for other keys.
std::optional<std::int64_t> usual_level_stride(const IntegerKey& key, const GemmProblem& problem) {
  using P = GemmProblem;
  const auto of = [&](std::size_t level, auto a, auto b, auto c) -> std::optional<std::int64_t> {
    const BatchLevel usual = usual_level(problem, level);
    if (key.member == a) return usual.a;
    if (key.member == b) return usual.b;
    if (key.member == c) return usual.c;
    return {};
  };
  if (const auto outer = of(1, &P::outer_a, &P::outer_b, &P::outer_c)) return outer;
  return of(2, &P::outermost_a, &P::outermost_b, &P::outermost_c);
}

// The problem with the same shapes whose leading dimensions, strides and block have their default values.
GemmProblem with_defaults(GemmProblem problem, bool keep_leading_dimensions) {
  if (!keep_leading_dimensions) problem.lda = problem.ldb = problem.ldc = 0;
  problem.stride_a = problem.stride_b = problem.stride_c = 0;
  problem.block = 0;
  problem.run = 1;
  return packed(without_levels(problem));
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), parts_(split(text, ':')) {}

  GemmProblem parse() {
    refuse_unbuilt(text_);
    if (parts_.size() < 4)
      fail(text_, "has fewer than the four parts family:dtype:ops:sizes, as in gemm:f64:nn:m=4,n=5,k=6");
    read_family(parts_[0]);
    problem_.dtype = read_enum<DType>(parts_[1], "dtype");
    read_ops(parts_[2]);
    read_sizes(parts_[3]);
    for (std::size_t i = 4; i < parts_.size(); ++i) read_part(parts_[i]);
    return resolve();
  }

 private:
  [[noreturn]] void fail(std::string_view part, const std::string& why) const {
    throw Error(ErrorCode::invalid_argument, "problem",
                fmt::format("problem '{}': the part '{}' {}", text_, part, why));
  }

  template <class E>
  E read_enum(std::string_view part, const char* what) const {
    std::string known;
    for (const auto& [candidate, name] : EnumNames<E>::value) {
      if (part == name) return candidate;
      known += known.empty() ? name : std::string(", ") + name;
    }
    fail(part, fmt::format("is no {} (one of {})", what, known));
  }

  void read_family(std::string_view part) {
    std::vector<std::string_view> known;
    for (const FamilyName& family : family_names) {
      known.push_back(family.name);
      if (part != family.name) continue;
      problem_.layout = family.layout;
      problem_.sums = family.sums;
      return;
    }
    fail(part, fmt::format("is no family ({})", fmt::join(known, ", ")));
  }

  void read_ops(std::string_view part) {
    if (part.size() != 2) fail(part, "is not two of n, t, c");
    problem_.op_a = read_enum<Op>(part.substr(0, 1), "op of A");
    problem_.op_b = read_enum<Op>(part.substr(1, 1), "op of B");
  }

  // Integers may be written as 1e6.
  std::int64_t read_integer(std::string_view part, std::string_view value) const {
    if (const auto integer = integer_from_text(value)) return *integer;
    if (const std::size_t comma = value.find(',');
        comma != std::string_view::npos && integer_from_text(value.substr(0, comma)))
      fail(part, "holds a comma: keys behind the sizes stand between colons, as in :lda=8:ldb=8");
    fail(part, "does not end in a 64-bit integer");
  }

  void read_sizes(std::string_view part) {
    std::array<bool, size_keys.size()> seen{};
    for (std::string_view item : split(part, ',')) {
      const std::size_t equals = item.find('=');
      bool known = false;
      for (std::size_t i = 0; i < size_keys.size(); ++i)
        if (equals != std::string_view::npos && item.substr(0, equals) == size_keys[i].name) {
          if (seen[i]) fail(item, "is given twice");
          problem_.*(size_keys[i].member) = read_integer(item, item.substr(equals + 1));
          seen[i] = known = true;
        }
      if (!known && is_key(item.substr(0, equals)))
        fail(item,
             fmt::format("is no size: it follows the sizes behind a colon, as in m=4,n=5,k=6:{}", item));
      if (!known) fail(item, "is no size (m=, n=, k=)");
    }
    for (std::size_t i = 0; i < size_keys.size(); ++i)
      if (!seen[i])
        fail(part, fmt::format("lacks {}= (sizes stand together between commas, as in m=4,n=5,k=6)",
                               size_keys[i].name));
  }

  void read_part(std::string_view part) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      if (problem_.layout == Layout::single)
        fail(part, "is a batch layout, which the family gemm does not have");
      if (problem_.sums == Sums::stack) fail(part, "is a layout, which the family gemm_stack does not have");
      if (layout_seen_) fail(part, "is a second layout");
      layout_seen_ = true;
      problem_.layout = read_enum<Layout>(part, "layout");
      if (problem_.layout == Layout::single) fail(part, "is no layout of a batch");
      if (problem_.sums != Sums::none && problem_.layout != Layout::strided &&
          problem_.layout != Layout::pointer)
        fail(part, "is no layout of gemm_batch_reduce (strided, pointer)");
      return;
    }
    read_key(part, part.substr(0, equals), part.substr(equals + 1));
  }

  void read_key(std::string_view part, std::string_view key, std::string_view value) {
    if (problem_.layout == Layout::single && (key == "batch" || key == "block" || is_of_strided(key)))
      fail(part, "describes a batch, which the family gemm does not have");
    for (std::size_t i = 0; i < integer_keys.size(); ++i)
      if (key == integer_keys[i].name) {
        if (integers_[i]) fail(part, "is given twice");
        integers_[i] = read_integer(part, value);
        return;
      }
    if (key == "alpha")
      problem_.alpha = read_scalar(value);
    else if (key == "beta")
      problem_.beta = read_scalar(value);
    else if (key == "residency")
      problem_.residency = read_enum<Residency>(value, "residency");
    else if (key == "location")
      problem_.location = read_enum<Location>(value, "location");
    else
      fail(part, fmt::format("has an unknown key ({})", fmt::join(all_keys, ", ")));
  }

  static bool is_key(std::string_view name) {
    return std::find(all_keys.begin(), all_keys.end(), name) != all_keys.end();
  }

  Scalar read_scalar(std::string_view value) const {
    if (value == "0") return Scalar::zero;
    if (value == "1") return Scalar::one;
    return read_enum<Scalar>(value, "scalar class");
  }

  // Fills in defaults in the order of their dependencies: leading dimensions, then strides and block, then
  // the levels from the innermost outwards.
  GemmProblem resolve() {
    GemmProblem given = problem_;
    for (std::size_t i = 0; i < integer_keys.size(); ++i) {
      if (!integers_[i]) continue;
      if (!has_meaning(integer_keys[i], problem_))
        fail(integer_keys[i].name,
             integer_keys[i].member == &GemmProblem::run || problem_.sums != Sums::none
                 ? fmt::format("means nothing to the family {}", family_of(problem_).name)
                 : fmt::format("means nothing to the layout {}", to_string(problem_.layout)));
      given.*(integer_keys[i].member) = *integers_[i];
    }
    GemmProblem result = with_defaults(given, true);
    for (const bool is_level_stride : {false, true})
      for (std::size_t i = 0; i < integer_keys.size(); ++i) {
        const auto usual = usual_level_stride(integer_keys[i], result);
        if (usual.has_value() != is_level_stride) continue;
        if (integers_[i] || usual) result.*(integer_keys[i].member) = integers_[i] ? *integers_[i] : *usual;
      }
    return result;
  }

  std::string_view text_;
  std::vector<std::string_view> parts_;
  GemmProblem problem_;
  bool layout_seen_ = false;
  std::array<std::optional<std::int64_t>, integer_keys.size()> integers_;
};

}  // namespace

std::string to_string(const GemmProblem& problem) {
  const bool batched = problem.layout != Layout::single;
  std::string text = fmt::format("{}:{}:{}:m={},n={},k={}", family_of(problem).name, to_string(problem.dtype),
                                 op_pair(problem), problem.m, problem.n, problem.k);
  if (batched && problem.sums != Sums::stack) text += ":" + to_string(problem.layout);
  if (batched) text += fmt::format(":batch={}", problem.batch_count);
  const GemmProblem packed_ld = with_defaults(problem, false);
  const GemmProblem packed_strides = with_defaults(problem, true);
  for (const IntegerKey& key : integer_keys) {
    const auto& [name, member] = key;
    if (member == &GemmProblem::batch_count || !has_meaning(key, problem)) continue;
    const bool leading =
        member == &GemmProblem::lda || member == &GemmProblem::ldb || member == &GemmProblem::ldc;
    const bool counts_parts = member == &GemmProblem::outer_count || member == &GemmProblem::outermost_count;
    const std::int64_t usual =
        counts_parts
            ? 1
            : usual_level_stride(key, problem).value_or((leading ? packed_ld : packed_strides).*member);
    if (problem.*member != usual) text += fmt::format(":{}={}", name, problem.*member);
  }
  if (problem.alpha != Scalar::one) text += ":alpha=" + to_string(problem.alpha);
  if (problem.beta != Scalar::zero) text += ":beta=" + to_string(problem.beta);
  if (problem.residency != Residency::automatic) text += ":residency=" + to_string(problem.residency);
  if (problem.location != Location::host) text += ":location=" + to_string(problem.location);
  return text;
}

GemmProblem parse_problem(const std::string& text) { return Parser(text).parse(); }

}  // namespace tilewright
