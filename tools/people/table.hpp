// Text for people, in lines of at most line_width columns: tables with a header over each column, wrapped
// sentences, emphasis on terminals, and words that were meant. It knows nothing of what it prints.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::people {

inline constexpr std::size_t line_width = 100;

struct Column {
  std::string name;
  std::size_t width = 0;  // at least; fitted_table() widens columns to their cells
  bool is_text = false;   // to the left; numbers are to the right
};

// A table whose rows are printed as they are found. The columns have fixed widths.
class Table {
 public:
  // Columns by name and width, "case 26< | time 8": text goes to the left, numbers to the right.
  explicit Table(std::string_view columns);
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  std::string head() const;
  // Returns one line; if the first cell is wider than its column, it has lines of its own and the others are
  // below it. Other texts that are too wide are cut.
  std::string row(const std::vector<std::string>& cells) const;

 private:
  std::string line(const std::vector<std::string>& cells) const;
  std::vector<Column> columns_;
};

// Returns the head and all rows, each with its newline. Columns are as wide as their cells; where that is too
// much for a line, the widest text column is cut.
std::string fitted_table(std::vector<Column> columns, const std::vector<std::vector<std::string>>& rows);

// Breaks every line of the text that is too long; what continues a line is indented.
std::string wrapped(const std::string& text, std::size_t indent = 2);

// Returns the text, bold if `out` is a terminal that shows it: not with NO_COLOR or TERM=dumb.
std::string bold(std::FILE* out, const std::string& text);

// Returns "; did you mean 'tune'?", or "" if none of the words is close enough. Words that continue this one
// behind a dash are all named: "--op" may mean '--op-a' or '--op-b'.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& words);

// Puts that into a message about a word that is not among those which the message lists, as in
// "strategy = 'locl' is not one of exhaustive, random, local". A long list then gives way to it.
std::string with_suggestion(const std::string& message);

}  // namespace tilewright::people
