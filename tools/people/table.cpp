// Lays out tables and paragraphs. Widths are those of ASCII text.
#include "people/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "core/input/closest.hpp"

namespace tilewright::people {
namespace {

std::string cut(const std::string& cell, std::size_t width) {
  constexpr std::string_view mark = "..";
  if (cell.size() <= width || width <= mark.size()) return cell;
  return cell.substr(0, width - mark.size()).append(mark);
}

void strip_right(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

std::size_t total_width(const std::vector<Column>& columns) {
  std::size_t total = columns.size() - 1;
  for (const Column& column : columns) total += column.width;
  return total;
}

// Appends the line in pieces. They end at blanks, or behind commas and colons where the last blank would
// leave a short piece; a word without either stays whole.
void append_wrapped(std::string& to, std::string line, std::size_t indent) {
  while (line.size() > line_width) {
    std::size_t at = line.find_last_of(' ', line_width - 1);
    const std::size_t begin = line.find_first_not_of(' ');
    if (at == std::string::npos || at < line_width / 2) at = line.find_last_of(" ,:", line_width - 1);
    if (at == std::string::npos || at <= begin) at = line.find_first_of(" ,:", line_width);
    if (at == std::string::npos || at + 1 >= line.size()) break;
    std::string first = line.substr(0, at + 1);
    strip_right(first);
    to += first + '\n';
    line = std::string(indent, ' ') + line.substr(at + 1);
  }
  to += line;
}

// The words of "a, b or c)": up to the first character that no list has.
std::vector<std::string> listed_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty() && word != "or" && word != "and") words.push_back(word);
    word.clear();
  };
  for (const char c : text) {
    if (c == ')' || c == ';' || c == '(') break;
    if (c == ',' || c == ' ')
      end_word();
    else
      word += c;
  }
  end_word();
  return words;
}

// Names beyond this number hide the suggestion, which is then given without them.
bool has_many_names(std::string_view list) {
  constexpr std::ptrdiff_t most_names = 6;
  return std::count(list.begin(), list.end(), ',') >= most_names;
}

// "'gem' is not a family (expected one of gemm, lu) (see ...)": `at` is where the brackets of the list begin,
// `end` where the list ends.
std::string before_brackets(const std::string& message, std::size_t at, std::size_t end,
                            std::string_view list, const std::string& meant) {
  const bool leaves_out = has_many_names(list) && end < message.size() && message[end] == ')';
  return message.substr(0, at) + meant + message.substr(leaves_out ? end + 1 : at);
}

// "'cpuu' is not one of cpu, gpu (see ...)": `at` is where "is not one of" begins, `end` where the list ends.
std::string behind_list(const std::string& message, std::size_t at, std::size_t end, std::string_view list,
                        const std::string& meant) {
  const std::size_t see = std::min(message.find(" (see ", at), message.size());
  const bool leaves_out = has_many_names(list) && (end == message.size() || end == see + 1);
  const std::string said =
      leaves_out ? message.substr(0, at) + "is not a known value" : message.substr(0, see);
  return said + meant + message.substr(see);
}

}  // namespace

std::string Table::line(const std::vector<std::string>& cells) const {
  std::string text;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    const std::string cell = i < cells.size() ? cut(cells[i], column.width) : "";
    text += i == 0 ? "" : " ";
    text += column.is_text ? fmt::format("{:<{}}", cell, column.width)
                           : fmt::format("{:>{}}", cell, column.width);
  }
  strip_right(text);
  return text;
}

Table::Table(std::string_view columns) {
  while (!columns.empty()) {
    std::string_view one = columns.substr(0, columns.find(" | "));
    columns.remove_prefix(std::min(columns.size(), one.size() + 3));
    const bool is_text = one.ends_with('<');
    const std::size_t space = one.rfind(' ');
    columns_.push_back(
        {std::string(one.substr(0, space)), std::stoul(std::string(one.substr(space + 1))), is_text});
  }
}

std::string Table::head() const {
  std::vector<std::string> names;
  for (const Column& column : columns_) names.push_back(column.name);
  return line(names);
}

std::string Table::row(const std::vector<std::string>& cells) const {
  if (cells.empty() || cells.front().size() <= columns_.front().width) return line(cells);
  std::vector<std::string> rest = cells;
  rest.front().clear();
  return wrapped(cells.front()) + '\n' + line(rest);
}

std::string fitted_table(std::vector<Column> columns, const std::vector<std::vector<std::string>>& rows) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i].width = std::max(columns[i].width, columns[i].name.size());
    for (const auto& row : rows)
      if (i < row.size()) columns[i].width = std::max(columns[i].width, row[i].size());
  }
  while (total_width(columns) > line_width) {
    const auto widest = std::max_element(columns.begin(), columns.end(), [](const auto& x, const auto& y) {
      return (x.is_text ? x.width : 0) < (y.is_text ? y.width : 0);
    });
    if (!widest->is_text || widest->width <= widest->name.size()) break;
    --widest->width;
  }
  const Table table(columns);
  std::string text = table.head() + '\n';
  for (auto row : rows) {
    if (!row.empty()) row.front() = cut(row.front(), columns.front().width);
    text += table.row(row) + '\n';
  }
  return text;
}

std::string wrapped(const std::string& text, std::size_t indent) {
  std::string all;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    append_wrapped(all, text.substr(begin, end - begin), indent);
    if (end < text.size()) all += '\n';
    begin = end + 1;
  }
  return all;
}

std::string bold(std::FILE* out, const std::string& text) {
  const char* const none = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  const bool plain = (none != nullptr && *none != '\0') || terminal == nullptr ||
                     std::string_view(terminal) == "dumb" || ::isatty(::fileno(out)) == 0;
  return plain ? text : "\033[1m" + text + "\033[0m";
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& words) {
  constexpr std::size_t least_letters = 3, most_continuations = 3;
  std::vector<std::string> meant;
  if (word.size() >= least_letters)
    for (const std::string& one : words)
      if (one.starts_with(std::string(word) + '-') && std::count(meant.begin(), meant.end(), one) == 0)
        meant.push_back(one);
  if (meant.empty() || meant.size() > most_continuations) meant = {closest(word, words)};
  return meant.front().empty() ? "" : fmt::format("; did you mean '{}'?", fmt::join(meant, "' or '"));
}

std::string with_suggestion(const std::string& message) {
  const std::size_t close = message.find("' is not ");
  if (close == std::string::npos || close == 0 || message.find("did you mean") < message.size())
    return message;
  const std::size_t open = message.rfind('\'', close - 1);
  if (open == std::string::npos) return message;
  for (const std::string_view before : {"is not one of ", " (expected one of ", " (expected "}) {
    const std::size_t at = message.find(before, close);
    if (at == std::string::npos) continue;
    const std::string_view word = std::string_view(message).substr(open + 1, close - open - 1);
    const std::size_t begin = at + before.size();
    const std::size_t end = std::min(message.find_first_of("();", begin), message.size());
    const std::string_view list = std::string_view(message).substr(begin, end - begin);
    const std::string meant = did_you_mean(word, listed_words(list));
    if (meant.empty()) return message;
    return before.starts_with(' ') ? before_brackets(message, at, end, list, meant)
                                   : behind_list(message, at, end, list, meant);
  }
  return message;
}

}  // namespace tilewright::people
