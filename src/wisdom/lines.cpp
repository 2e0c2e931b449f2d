// The scan of a file of JSON lines, its groups, and the index of each kind.
#include "wisdom/lines.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "wisdom/families.hpp"

namespace tilewright {
namespace {

// As string_view::find, which compares at each quote of the line, of which there are many.
std::size_t find_text(std::string_view line, std::string_view wanted, std::size_t from = 0) {
  if (from > line.size()) return std::string_view::npos;
  const void* at = ::memmem(line.data() + from, line.size() - from, wanted.data(), wanted.size());
  return at == nullptr ? std::string_view::npos : std::size_t(static_cast<const char*>(at) - line.data());
}

// The value of `"key": "value"` where the line has the key once and its value no escapes; else nullopt, and
// the line is parsed.
std::optional<std::string_view> plain_text(std::string_view line, std::string_view quoted_key) {
  const std::size_t at = find_text(line, quoted_key);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t from = line.find_first_not_of(' ', at + quoted_key.size());
  if (from == std::string_view::npos || line[from] != ':') return std::nullopt;
  from = line.find_first_not_of(' ', from + 1);
  if (from == std::string_view::npos || line[from] != '"') return std::nullopt;
  const std::size_t to = line.find('"', from + 1);
  if (to == std::string_view::npos) return std::nullopt;
  const std::string_view value = line.substr(from + 1, to - from - 1);
  if (value.find('\\') != std::string_view::npos) return std::nullopt;
  if (find_text(line, quoted_key, to) != std::string_view::npos) return std::nullopt;
  return value;
}

// The texts of a line written by tilewright that say what it is about.
struct Texts {
  std::string_view family, architecture, problem;
};

// Nullopt for any other line, which has to be parsed.
std::optional<Texts> texts_of(std::string_view line) {
  if (line.front() != '{' || line.back() != '}') return std::nullopt;
  const auto family = plain_text(line, "\"family\"");
  if (!family || !is_known_family(std::string(*family))) return std::nullopt;
  const auto isa = architecture_of_all(std::string(*family)).empty() ? plain_text(line, "\"isa\"") : family;
  const auto problem = plain_text(line, "\"problem\"");
  if (!isa || !problem) return std::nullopt;
  return Texts{*family, *isa, *problem};
}

// What the indexes need of such a line; false where it has to be parsed for it.
bool scan(std::string_view line, const Texts& texts, WisdomQuery& key) {
  const auto device = plain_text(line, "\"device\"");
  const auto objective = plain_text(line, "\"objective\"");
  const auto verdict = plain_text(line, "\"verdict\"");
  if (!device || !objective || !verdict || *verdict != "passed") return false;
  const std::string of_all = architecture_of_all(std::string(texts.family));
  try {
    WisdomSubject subject = subject_of(std::string(texts.problem));
    if (!subject.problem) return false;
    key = {std::string(texts.family),
           of_all.empty() ? std::string(texts.architecture) : of_all,
           *subject.problem,
           std::string(*objective),
           std::string(*device),
           std::move(subject.math),
           std::move(subject.operation)};
  } catch (const Error&) {
    return false;  // parsing the line says what is wrong with it
  }
  return true;
}

// What lines have in common that may answer the same questions: family, architecture, type and operations.
std::string group_of(std::string_view family, std::string_view architecture, std::string_view dtype,
                     std::string_view ops) {
  std::string group = fmt::format("{} {} {} {}", family, architecture, dtype, ops);
  // Real numbers are their own conjugates.
  if (dtype.starts_with('f')) std::replace(group.end() - std::ptrdiff_t(ops.size()), group.end(), 'c', 't');
  return group;
}
std::string group_of(const WisdomQuery& query) {
  const std::string architecture =
      architecture_of_all(query.family).empty() ? query.architecture : query.family;
  return group_of(query.family, architecture, to_string(query.problem.dtype), op_pair(query.problem));
}
// "" where the problem is not written as to_string() begins it: operation:dtype:ops:
std::string group_of(const Texts& texts) {
  const std::size_t first = texts.problem.find(':');
  if (first == std::string_view::npos) return "";
  const std::size_t second = texts.problem.find(':', first + 1);
  if (second == std::string_view::npos || texts.problem.find(":math=") != std::string_view::npos) return "";
  const std::size_t third = std::min(texts.problem.find(':', second + 1), texts.problem.size());
  const std::string_view dtype = texts.problem.substr(first + 1, second - first - 1);
  const std::string_view ops = texts.problem.substr(second + 1, third - second - 1);
  const bool is_dtype = dtype == "f32" || dtype == "f64" || dtype == "c64" || dtype == "c128";
  if (!is_dtype || ops.size() != 2 || ops.find_first_not_of("ntc") != std::string_view::npos) return "";
  return group_of(texts.family, texts.architecture, dtype, ops);
}

}  // namespace

struct WisdomLines::Impl {
  explicit Impl(std::string file) : path(std::move(file)) {}

  [[noreturn]] void malformed(std::int64_t number, const char* what) const {
    throw Error(ErrorCode::io, "wisdom", fmt::format("wisdom {}:{} is malformed: {}", path, number, what));
  }

  template <class Visit>
  void each_line(Visit&& visit) {
    load();
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (!lines[i].empty()) visit(std::int64_t(i) + 1, lines[i]);
  }

  // What `record_of` makes of a line: a record or a model, with its place, or nothing.
  template <class Read>
  auto parse_with(Read record_of, std::int64_t number, std::string_view line) const {
    try {
      auto known = record_of(parse_line(std::string(line)));
      if (known) known->source = fmt::format("{}:{}", path, number);
      return known;
    } catch (const Error& error) {
      malformed(number, error.what());
    }
  }
  std::optional<WisdomRecord> parse(std::int64_t number, std::string_view line) const {
    return parse_with(record_of_line, number, line);
  }

  void load() {
    if (!lines.empty()) return;
    std::ifstream stream(path, std::ios::binary | std::ios::ate);
    const auto size = stream.tellg();
    if (size <= 0) return;
    content.resize(std::size_t(size));
    stream.seekg(0);
    if (!stream.read(content.data(), size))
      content.resize(std::size_t(std::max<std::streamsize>(0, stream.gcount())));
    for (std::size_t begin = 0; begin < content.size();) {
      const std::size_t end = std::min(content.find('\n', begin), content.size());
      const std::string_view line = std::string_view(content).substr(begin, end - begin);
      lines.push_back(line.substr(0, line.find_last_not_of(" \t\r") + 1));
      begin = end + 1;
    }
  }

  // Sorts lines into groups. Throws for every call that meets a malformed line: a failed read is not taken
  // for an empty file later.
  void sort() {
    if (sorted) return;
    groups.clear(), indexes.clear();
    each_line([&](std::int64_t number, std::string_view line) {
      const auto texts = texts_of(line);
      const std::string group = texts ? group_of(*texts) : "";
      if (group.empty())
        index(number, line);
      else
        groups[group].push_back(number);
    });
    sorted = true;
  }

  // Indexes the lines that may answer.
  std::shared_ptr<ShapeIndex> shapes(const WisdomQuery& query) {
    sort();
    if (const auto group = groups.find(group_of(query)); group != groups.end()) {
      for (const std::int64_t number : group->second) index(number, lines[std::size_t(number - 1)]);
      groups.erase(group);
    }
    const auto known = indexes.find(key_of(query));
    if (known == indexes.end()) return nullptr;
    if (!std::exchange(known->second.is_built, true)) known->second.shapes->build();
    return known->second.shapes;
  }

  void index(std::int64_t number, std::string_view line) {
    const auto texts = texts_of(line);
    WisdomQuery known;
    if ((!texts || !scan(line, *texts, known)) && !parse_key(number, line, known)) return;
    auto& of_kind = indexes[key_of(known)];
    if (of_kind.shapes == nullptr) of_kind.shapes = std::make_shared<ShapeIndex>(known.architecture);
    of_kind.shapes->add(known.device, known.problem, number);
  }

  bool parse_key(std::int64_t number, std::string_view line, WisdomQuery& key) const {
    const auto record = parse(number, line);
    // A model that import would refuse is refused here, too.
    if (!record && line.find("\"model\"") != std::string_view::npos)
      (void)parse_with(model_of_line, number, line);
    const auto query = record && record->passed() ? query_of(*record) : std::nullopt;
    if (query) key = *query;
    return query.has_value();
  }

  static std::string key_of(const WisdomQuery& query) { return kind_key(query) + ' ' + query.objective; }

  struct OfKind {
    std::shared_ptr<ShapeIndex> shapes;
    bool is_built = false;  // of all its lines, which are in one group or in none
  };

  std::string path;
  std::string content;
  std::vector<std::string_view> lines;  // of the content, the blank ones too
  bool sorted = false;
  std::unordered_map<std::string, std::vector<std::int64_t>> groups;  // numbers, not indexed yet
  std::unordered_map<std::string, OfKind> indexes;
};

WisdomLines::WisdomLines(std::string path) : impl_(std::make_unique<Impl>(std::move(path))) {}
WisdomLines::~WisdomLines() = default;

const std::string& WisdomLines::path() const { return impl_->path; }

std::shared_ptr<ShapeIndex> WisdomLines::shapes(const WisdomQuery& query) { return impl_->shapes(query); }

std::optional<WisdomRecord> WisdomLines::fetch(std::int64_t number) {
  auto record = impl_->parse(number, impl_->lines.at(std::size_t(number - 1)));
  if (!record) impl_->malformed(number, "it is no record");
  return record;
}

void WisdomLines::each(const std::function<void(const WisdomRecord&)>& visit) {
  impl_->each_line([&](std::int64_t number, std::string_view line) {
    if (const auto record = impl_->parse(number, line)) visit(*record);
  });
}

void WisdomLines::each_of(const std::string& family, const std::function<void(const WisdomRecord&)>& visit) {
  impl_->each_line([&](std::int64_t number, std::string_view line) {
    if (const auto named = plain_text(line, "\"family\""); named && *named != family) return;
    if (const auto record = impl_->parse(number, line); record && record->family == family) visit(*record);
  });
}

void WisdomLines::each_model(const std::function<void(const FittedModel&)>& visit) {
  impl_->each_line([&](std::int64_t number, std::string_view line) {
    if (find_text(line, "\"model\"") == std::string_view::npos) return;
    if (const auto model = impl_->parse_with(model_of_line, number, line)) visit(*model);
  });
}

}  // namespace tilewright
