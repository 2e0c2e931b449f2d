// A file of JSON lines as a source of wisdom, read-only: the shipped files, and files from others. The first
// lookup sorts lines by family, architecture, type and operations, a group is indexed on the first lookup of
// its kind, and a line is parsed when its record is fetched.

#include <algorithm>
#include <fstream>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "wisdom/families.hpp"
#include "wisdom/source.hpp"

namespace tilewright {
namespace {

// As string_view::find, but faster: that one compares at each quote of the line.
std::size_t find_text(std::string_view line, std::string_view wanted, std::size_t from = 0) {
  if (from > line.size()) return std::string_view::npos;
  const void* at = ::memmem(line.data() + from, line.size() - from, wanted.data(), wanted.size());
  return at == nullptr ? std::string_view::npos : std::size_t(static_cast<const char*>(at) - line.data());
}

// The value of `"key": "value"`; nullopt unless the line has the key once and its value has no escapes.
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

// The texts that select the group of a line.
struct Texts {
  std::string_view family, architecture, problem;
};

// Nullopt for lines that must be parsed.
std::optional<Texts> texts_of(std::string_view line) {
  if (line.front() != '{' || line.back() != '}') return std::nullopt;
  const auto family = plain_text(line, "\"family\"");
  if (!family || !is_known_family(std::string(*family))) return std::nullopt;
  const auto isa = architecture_of_all(std::string(*family)).empty() ? plain_text(line, "\"isa\"") : family;
  const auto problem = plain_text(line, "\"problem\"");
  if (!isa || !problem) return std::nullopt;
  return Texts{*family, *isa, *problem};
}

// Reads the key of a line without parsing it; false if it must be parsed.
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
    return false;  // parsing the line reports the fault
  }
  return true;
}

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
// "" unless the problem begins as to_string() writes it: operation:dtype:ops:
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

class WisdomLines : public WisdomSource {
 public:
  explicit WisdomLines(std::string path) : path_(std::move(path)) {}

  const std::string& path() const override { return path_; }
  std::shared_ptr<ShapeIndex> shapes(const WisdomQuery& query) override {
    sort();
    if (const auto group = groups_.find(group_of(query)); group != groups_.end()) {
      for (const std::int64_t number : group->second) index(number, lines_[std::size_t(number - 1)]);
      groups_.erase(group);
    }
    const auto known = indexes_.find(key_of(query));
    if (known == indexes_.end()) return nullptr;
    if (!std::exchange(known->second.is_built, true)) known->second.shapes->build();
    return known->second.shapes;
  }
  std::optional<WisdomRecord> fetch(std::int64_t number) override {
    auto record = parse(number, lines_.at(std::size_t(number - 1)));
    if (!record) malformed(number, "it is not a record");
    return record;
  }
  void each(const std::function<void(const WisdomRecord&)>& visit) override {
    each_line([&](std::int64_t number, std::string_view line) {
      if (const auto record = parse(number, line)) visit(*record);
    });
  }
  void each_of(const std::string& family, const std::function<void(const WisdomRecord&)>& visit) override {
    each_line([&](std::int64_t number, std::string_view line) {
      if (const auto named = plain_text(line, "\"family\""); named && *named != family) return;
      if (const auto record = parse(number, line); record && record->family == family) visit(*record);
    });
  }
  void each_model(const std::function<void(const FittedModel&)>& visit) override {
    each_line([&](std::int64_t number, std::string_view line) {
      if (find_text(line, "\"model\"") == std::string_view::npos) return;
      if (const auto model = parse_with(model_of_line, number, line)) visit(*model);
    });
  }

 private:
  [[noreturn]] void malformed(std::int64_t number, const char* what) const {
    throw Error(ErrorCode::io, "wisdom",
                fmt::format("wisdom = '{}': line {} is invalid: {}", path_, number, what));
  }

  template <class Visit>
  void each_line(Visit&& visit) {
    load();
    for (std::size_t i = 0; i < lines_.size(); ++i)
      if (!lines_[i].empty()) visit(std::int64_t(i) + 1, lines_[i]);
  }

  // A record or a model with its place, or nothing.
  template <class Read>
  std::invoke_result_t<Read, nlohmann::json> parse_with(Read record_of, std::int64_t number,
                                                        std::string_view line) const {
    try {
      auto known = record_of(parse_line(std::string(line)));
      if (known) known->source = fmt::format("{}:{}", path_, number);
      return known;
    } catch (const Error& error) {
      malformed(number, error.what());
    }
  }
  std::optional<WisdomRecord> parse(std::int64_t number, std::string_view line) const {
    return parse_with(record_of_line, number, line);
  }

  void load() {
    if (!lines_.empty()) return;
    std::ifstream stream(path_, std::ios::binary | std::ios::ate);
    const auto size = stream.tellg();
    if (size <= 0) return;
    content_.resize(std::size_t(size));
    stream.seekg(0);
    if (!stream.read(content_.data(), size))
      content_.resize(std::size_t(std::max<std::streamsize>(0, stream.gcount())));
    for (std::size_t begin = 0; begin < content_.size();) {
      const std::size_t end = std::min(content_.find('\n', begin), content_.size());
      const std::string_view line = std::string_view(content_).substr(begin, end - begin);
      lines_.push_back(line.substr(0, line.find_last_not_of(" \t\r") + 1));
      begin = end + 1;
    }
  }

  // Sorts lines into groups. Every call throws if a line is malformed: a failed read is not an empty file.
  void sort() {
    if (sorted_) return;
    groups_.clear(), indexes_.clear();
    each_line([&](std::int64_t number, std::string_view line) {
      const auto texts = texts_of(line);
      const std::string group = texts ? group_of(*texts) : "";
      if (group.empty())
        index(number, line);
      else
        groups_[group].push_back(number);
    });
    sorted_ = true;
  }

  void index(std::int64_t number, std::string_view line) {
    const auto texts = texts_of(line);
    WisdomQuery known;
    if ((!texts || !scan(line, *texts, known)) && !parse_key(number, line, known)) return;
    auto& of_kind = indexes_[key_of(known)];
    if (of_kind.shapes == nullptr) of_kind.shapes = std::make_shared<ShapeIndex>(known.architecture);
    of_kind.shapes->add(known.device, known.problem, number);
  }

  bool parse_key(std::int64_t number, std::string_view line, WisdomQuery& key) const {
    const auto record = parse(number, line);
    // Refuses the models that import refuses.
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

  std::string path_, content_;
  std::vector<std::string_view> lines_;  // of the content, blank ones included
  bool sorted_ = false;
  std::unordered_map<std::string, std::vector<std::int64_t>> groups_;  // numbers, not indexed yet
  std::unordered_map<std::string, OfKind> indexes_;
};

}  // namespace

std::unique_ptr<WisdomSource> open_lines(const std::string& path) {
  return std::make_unique<WisdomLines>(path);
}

}  // namespace tilewright
