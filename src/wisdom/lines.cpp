// The scan of a file of JSON lines and its two hash indexes.
#include "wisdom/lines.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string_view>
#include <unordered_map>

#include "wisdom/families.hpp"

namespace tilewright {
namespace {

struct Entry {
  std::int64_t number = 0;  // of the line, from 1
  std::size_t begin = 0;    // in the file
  std::size_t size = 0;
  WisdomQuery key;
};

// The value of `"key": "value"` where the line has the key once and its value no escapes; else nullopt, and
// the line is parsed.
std::optional<std::string_view> plain_text(std::string_view line, std::string_view quoted_key) {
  const std::size_t at = line.find(quoted_key);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t from = line.find_first_not_of(' ', at + quoted_key.size());
  if (from == std::string_view::npos || line[from] != ':') return std::nullopt;
  from = line.find_first_not_of(' ', from + 1);
  if (from == std::string_view::npos || line[from] != '"') return std::nullopt;
  const std::size_t to = line.find('"', from + 1);
  if (to == std::string_view::npos) return std::nullopt;
  const std::string_view value = line.substr(from + 1, to - from - 1);
  if (value.find('\\') != std::string_view::npos) return std::nullopt;
  if (line.find(quoted_key, to) != std::string_view::npos) return std::nullopt;
  return value;
}

// What the indexes need of a line written by tilewright; false for any other line, which has to be parsed.
bool scan(std::string_view line, WisdomQuery& key) {
  if (line.front() != '{' || line.back() != '}') return false;
  const auto family = plain_text(line, "\"family\"");
  const auto problem = plain_text(line, "\"problem\"");
  const auto device = plain_text(line, "\"device\"");
  const std::string of_all = family ? architecture_of_all(std::string(*family)) : "";
  const auto isa = of_all.empty() ? plain_text(line, "\"isa\"") : std::optional<std::string_view>(of_all);
  const auto objective = plain_text(line, "\"objective\"");
  const auto verdict = plain_text(line, "\"verdict\"");
  if (!family || !is_known_family(std::string(*family)) || !problem || !device || !isa || !objective ||
      !verdict || *verdict != "passed")
    return false;
  try {
    WisdomSubject subject = subject_of(std::string(*problem));
    if (!subject.problem) return false;
    key = {std::string(*family),        std::string(*isa),    *subject.problem,
           std::string(*objective),     std::string(*device), std::move(subject.math),
           std::move(subject.operation)};
  } catch (const Error&) {
    return false;  // parsing the line says what is wrong with it
  }
  return true;
}

}  // namespace

struct WisdomLines::Impl {
  explicit Impl(std::string file) : path(std::move(file)) {}

  [[noreturn]] void malformed(std::int64_t number, const char* what) const {
    throw Error(ErrorCode::io, "wisdom", fmt::format("wisdom {}:{} is malformed: {}", path, number, what));
  }

  template <class Visit>
  void each_line(Visit&& visit) const {
    std::int64_t number = 0;
    for (std::size_t begin = 0; begin < content.size();) {
      ++number;
      const std::size_t end = std::min(content.find('\n', begin), content.size());
      std::string_view line = std::string_view(content).substr(begin, end - begin);
      const std::size_t last = line.find_last_not_of(" \t\r");
      if (last != std::string_view::npos) visit(number, begin, line.substr(0, last + 1));
      begin = end + 1;
    }
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

  void read() {
    if (!content.empty()) return;
    std::ifstream stream(path, std::ios::binary);
    content.assign(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }

  // Throws for every call that meets a malformed line: a failed read is not taken for an empty file later.
  void index() {
    if (indexed) return;
    read();
    entries.clear(), by_exact.clear(), by_kind.clear();
    each_line([&](std::int64_t number, std::size_t begin, std::string_view line) {
      Entry entry{number, begin, line.size(), {}};
      if (!scan(line, entry.key) && !parse_key(number, line, entry.key)) return;
      by_exact[exact_key(entry.key)].push_back(entries.size());
      by_kind[kind_key(entry.key)].push_back(entries.size());
      entries.push_back(std::move(entry));
    });
    indexed = true;
  }

  bool parse_key(std::int64_t number, std::string_view line, WisdomQuery& key) const {
    const auto record = parse(number, line);
    const auto query = record && record->passed() ? query_of(*record) : std::nullopt;
    if (query) key = *query;
    return query.has_value();
  }

  using Index = std::unordered_map<std::string, std::vector<std::size_t>>;

  std::string path;
  std::string content;
  bool indexed = false;
  std::vector<Entry> entries;
  Index by_exact, by_kind;
};

WisdomLines::WisdomLines(std::string path) : impl_(std::make_unique<Impl>(std::move(path))) {}
WisdomLines::~WisdomLines() = default;

const std::string& WisdomLines::path() const { return impl_->path; }

std::vector<WisdomFinding> WisdomLines::find(const WisdomQuery& query, WisdomStage stage) {
  impl_->index();
  const bool near = stage == WisdomStage::near_shape || stage == WisdomStage::near_elsewhere;
  const bool elsewhere = stage == WisdomStage::exact_elsewhere || stage == WisdomStage::near_elsewhere;
  const Impl::Index& index = near ? impl_->by_kind : impl_->by_exact;
  const auto at = index.find((near ? kind_key : exact_key)(query));
  std::vector<WisdomFinding> found;
  if (at == index.end()) return found;
  for (const std::size_t i : at->second) {
    const WisdomQuery& known = impl_->entries[i].key;
    if (is_same_device(query.device, known.device) == elsewhere || known.objective != query.objective)
      continue;
    const double distance = shape_distance(query.problem, known.problem);
    if (near && (distance > shape_radius || is_exact(query.problem, known.problem) ||
                 !fills_alike(query.problem, known.problem, query.architecture)))
      continue;
    found.push_back({distance + trait_penalty(query.problem, known.problem, query.architecture) +
                         device_penalty(query.device, known.device),
                     std::int64_t(i)});
  }
  return found;
}

WisdomConfig WisdomLines::fetch(std::int64_t record) {
  const Entry& entry = impl_->entries.at(std::size_t(record));
  auto parsed = impl_->parse(entry.number, std::string_view(impl_->content).substr(entry.begin, entry.size));
  if (!parsed) impl_->malformed(entry.number, "it is no record");
  return {std::move(parsed->config), std::move(parsed->source), parsed->recorded(),
          std::move(parsed->problem), std::move(parsed->device)};
}

void WisdomLines::each(const std::function<void(const WisdomRecord&)>& visit) {
  impl_->read();
  impl_->each_line([&](std::int64_t number, std::size_t, std::string_view line) {
    if (const auto record = impl_->parse(number, line)) visit(*record);
  });
}

void WisdomLines::each_model(const std::function<void(const FittedModel&)>& visit) {
  impl_->read();
  impl_->each_line([&](std::int64_t number, std::size_t, std::string_view line) {
    if (line.find("\"model\"") == std::string_view::npos) return;
    if (const auto model = impl_->parse_with(model_of_line, number, line)) visit(*model);
  });
}

}  // namespace tilewright
