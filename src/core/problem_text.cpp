// Writes and reads the canonical texts of a GemmProblem, family:dtype:ops:sizes[:layout][:key=value]..., and
// of a LuProblem, lu:dtype:m=...,n=...[:lda=...][:location=...]. Only the grammar is checked.
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/problem.hpp"
#include "core/quantity.hpp"

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
constexpr std::array<std::string_view, 5> other_keys{"alpha", "beta", "residency", "arrival", "location"};
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
std::optional<std::int64_t> default_level_stride(const IntegerKey& key, const GemmProblem& problem) {
  using P = GemmProblem;
  const auto of = [&](std::size_t level, auto a, auto b, auto c) -> std::optional<std::int64_t> {
    const BatchLevel normal = dense_level(problem, level);
    if (key.member == a) return normal.a;
    if (key.member == b) return normal.b;
    if (key.member == c) return normal.c;
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

// Names the families, with "lu" for factorizations of one matrix.
std::string known_families() {
  std::string names;
  for (const FamilyName& family : family_names) names += std::string(family.name) + ", ";
  return names + "lu";
}

// Keys of the grammar that this version does not implement. That is the reason given.
struct UnbuiltPart {
  std::string_view part, what;
};
constexpr std::array unbuilt_keys{UnbuiltPart{"math=emulated", "products by emulated arithmetic"},
                                  UnbuiltPart{"error_budget=", "products by emulated arithmetic"},
                                  UnbuiltPart{"bits=fixed", "results with the same bits on every machine"}};

// Throws Error(unsupported) if the text asks for one of them, or for a routine of batches.
void refuse_unbuilt(std::string_view problem) {
  const auto refuse = [&](std::string_view part, std::string_view what) {
    throw Error(
        ErrorCode::unsupported, "problem",
        fmt::format("problem '{}': '{}' ({}) is not implemented in this version", problem, part, what));
  };
  const std::string_view family = problem.substr(0, problem.find(':'));
  if (enum_named<Routine>(family))
    throw Error(
        ErrorCode::unsupported, "problem",
        fmt::format("problem '{}': '{}' is a routine of batches, and texts name products and LU "
                    "factorizations (by {}): `tilewright factor {} A.npy -o X.npy --explain` explains it",
                    problem, family, known_families(), family));
  for (std::size_t at = problem.find(':'); at != std::string_view::npos; at = problem.find(':', at + 1)) {
    const std::string_view part = problem.substr(at + 1, problem.substr(at + 1).find(':'));
    for (const UnbuiltPart& one : unbuilt_keys)
      if (one.part.ends_with('=') ? part.starts_with(one.part) : part == one.part) refuse(part, one.what);
  }
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

// The parts of a text between colons, and the errors that name one of them.
class Parts {
 protected:
  explicit Parts(std::string_view text) : text_(text), parts_(split(text, ':')) { refuse_unbuilt(text); }

  [[noreturn]] void fail(std::string_view part, std::string_view why) const {
    throw Error(ErrorCode::invalid_argument, "problem",
                fmt::format("problem '{}': '{}' {}", text_, part, why));
  }

  // Integers may be written as 1e6.
  std::int64_t integer(std::string_view part, std::string_view value) const {
    if (const auto whole = integer_from_text(value)) return *whole;
    fail(part, "does not end in a 64-bit integer");
  }

  template <class E>
  E read_enum(std::string_view part, const char* what) const {
    if (const auto value = enum_named<E>(part)) return *value;
    fail(part, fmt::format("is not a valid {} (expected {})", what, expected_names<E>()));
  }

  std::string_view text_;
  std::vector<std::string_view> parts_;
};

class Parser : Parts {
 public:
  explicit Parser(std::string_view text) : Parts(text) {}

  GemmProblem parse() {
    if (parts_.size() > 1) read_family(parts_[0]);  // the text of another operation is named as such
    if (parts_.size() < 4)
      fail(text_, "has fewer than the four parts family:dtype:ops:sizes, as in gemm:f64:nn:m=4,n=5,k=6");
    problem_.dtype = read_enum<DType>(parts_[1], "dtype");
    read_ops(parts_[2]);
    read_sizes(parts_[3]);
    for (std::size_t i = 4; i < parts_.size(); ++i) read_part(parts_[i]);
    return resolve();
  }

 private:
  void read_family(std::string_view part) {
    for (const FamilyName& family : family_names) {
      if (part != family.name) continue;
      problem_.layout = family.layout;
      problem_.sums = family.sums;
      return;
    }
    const char* const of_products = part == "lu" ? " of products" : "";
    fail(part, fmt::format("is not a valid family{} (expected one of {})", of_products, known_families()));
  }

  void read_ops(std::string_view part) {
    if (part.size() != 2) fail(part, "is not a pair of ops (expected two of n, t, c, as in nt)");
    problem_.op_a = read_enum<Op>(part.substr(0, 1), "op of A");
    problem_.op_b = read_enum<Op>(part.substr(1, 1), "op of B");
  }

  std::int64_t read_integer(std::string_view part, std::string_view value) const {
    const std::size_t comma = value.find(',');
    if (comma != std::string_view::npos && integer_from_text(value.substr(0, comma)))
      fail(part, "contains a comma: separate the keys after the sizes by colons, as in :lda=8:ldb=8");
    return integer(part, value);
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
             fmt::format("is not a size: write it after the sizes and a colon, as in m=4,n=5,k=6:{}", item));
      if (!known) fail(item, "is not a size (expected m=, n= or k=)");
    }
    for (std::size_t i = 0; i < size_keys.size(); ++i)
      if (!seen[i])
        fail(part,
             fmt::format("lacks {}= (separate the sizes by commas, as in m=4,n=5,k=6)", size_keys[i].name));
  }

  void read_part(std::string_view part) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      if (problem_.layout == Layout::single)
        fail(part, "is a layout of batches, which the family gemm does not take");
      if (problem_.sums == Sums::stack) fail(part, "is a layout, which the family gemm_stack does not take");
      if (layout_seen_) fail(part, "is a second layout");
      layout_seen_ = true;
      problem_.layout = read_enum<Layout>(part, "layout");
      if (problem_.layout == Layout::single) fail(part, "is not a layout of a batch");
      if (problem_.sums != Sums::none && problem_.layout != Layout::strided &&
          problem_.layout != Layout::pointer)
        fail(part, "is not a layout of gemm_batch_reduce (expected strided or pointer)");
      return;
    }
    read_key(part, part.substr(0, equals), part.substr(equals + 1));
  }

  void read_key(std::string_view part, std::string_view key, std::string_view value) {
    if (problem_.layout == Layout::single && (key == "batch" || key == "block" || is_of_strided(key)))
      fail(part, "describes a batch, which the family gemm does not take");
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
    else if (key == "arrival")
      problem_.arrival = read_enum<Arrival>(value, "arrival");
    else if (key == "location")
      problem_.location = read_enum<Location>(value, "location");
    else
      fail(key, fmt::format("is not a key of a problem (expected one of {})", fmt::join(all_keys, ", ")));
  }

  static bool is_key(std::string_view name) {
    return std::find(all_keys.begin(), all_keys.end(), name) != all_keys.end();
  }

  Scalar read_scalar(std::string_view value) const {
    if (value == "0") return Scalar::zero;
    if (value == "1") return Scalar::one;
    return read_enum<Scalar>(value, "scalar class");
  }

  // Fills in defaults: leading dimensions, then strides and block, then levels from the innermost on.
  GemmProblem resolve() {
    GemmProblem given = problem_;
    for (std::size_t i = 0; i < integer_keys.size(); ++i) {
      if (!integers_[i]) continue;
      if (!has_meaning(integer_keys[i], problem_))
        fail(integer_keys[i].name,
             integer_keys[i].member == &GemmProblem::run || problem_.sums != Sums::none
                 ? fmt::format("does not apply to the family {}", family_of(problem_).name)
                 : fmt::format("does not apply to the layout {}", to_string(problem_.layout)));
      given.*(integer_keys[i].member) = *integers_[i];
    }
    GemmProblem result = with_defaults(given, true);
    for (const bool is_level_stride : {false, true})
      for (std::size_t i = 0; i < integer_keys.size(); ++i) {
        const auto normal = default_level_stride(integer_keys[i], result);
        if (normal.has_value() != is_level_stride) continue;
        if (integers_[i] || normal) result.*(integer_keys[i].member) = integers_[i] ? *integers_[i] : *normal;
      }
    return result;
  }

  GemmProblem problem_;
  bool layout_seen_ = false;
  std::array<std::optional<std::int64_t>, integer_keys.size()> integers_;
};

class LuParser : Parts {
 public:
  explicit LuParser(std::string_view text) : Parts(text) {}

  LuProblem parse() const {
    if (parts_.size() < 3 || parts_[0] != "lu")
      fail(text_, "is not of the form lu:dtype:m=...,n=..., as in lu:f64:m=1000,n=1000");
    LuProblem problem;
    problem.dtype = read_enum<DType>(parts_[1], "dtype");
    const auto sizes = split(parts_[2], ',');
    if (sizes.size() != 2) fail(parts_[2], "is not of the form m=...,n=...");
    problem.m = read_integer(sizes[0], "m");
    problem.n = read_integer(sizes[1], "n");
    problem.lda = std::max<std::int64_t>(1, problem.m);
    for (std::size_t i = 3; i < parts_.size(); ++i) {
      if (parts_[i].starts_with("lda="))
        problem.lda = read_integer(parts_[i], "lda");
      else if (constexpr std::string_view key = "location="; parts_[i].starts_with(key))
        problem.location = read_enum<Location>(parts_[i].substr(key.size()), "location");
      else
        fail(parts_[i].substr(0, parts_[i].find('=')),
             "is not a key of an LU problem (expected lda or location)");
    }
    return problem;
  }

 private:
  std::int64_t read_integer(std::string_view part, std::string_view key) const {
    if (!part.starts_with(key) || part.substr(key.size(), 1) != "=")
      fail(part, fmt::format("is not of the form {}=...", key));
    return integer(part, part.substr(key.size() + 1));
  }
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
    const std::int64_t normal =
        counts_parts
            ? 1
            : default_level_stride(key, problem).value_or((leading ? packed_ld : packed_strides).*member);
    if (problem.*member != normal) text += fmt::format(":{}={}", name, problem.*member);
  }
  if (problem.alpha != Scalar::one) text += ":alpha=" + to_string(problem.alpha);
  if (problem.beta != Scalar::zero) text += ":beta=" + to_string(problem.beta);
  if (problem.residency != Residency::automatic) text += ":residency=" + to_string(problem.residency);
  if (problem.arrival != Arrival::back_to_back) text += ":arrival=" + to_string(problem.arrival);
  if (problem.location != Location::host) text += ":location=" + to_string(problem.location);
  return text;
}

GemmProblem parse_problem(const std::string& text) { return Parser(text).parse(); }

std::string to_string(const LuProblem& p) {
  std::string text = fmt::format("lu:{}:m={},n={}", to_string(p.dtype), p.m, p.n);
  if (p.lda != std::max<std::int64_t>(1, p.m)) text += fmt::format(":lda={}", p.lda);
  if (p.location != Location::host) text += ":location=" + to_string(p.location);
  return text;
}

LuProblem parse_lu_problem(const std::string& text) { return LuParser(text).parse(); }

}  // namespace tilewright
