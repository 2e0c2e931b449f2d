// One self-contained HTML page of sections, paragraphs, tables and drawings: no script, no other file. Texts
// are escaped here and nowhere else.
#pragma once

#include <string>
#include <vector>

namespace tilewright::cli {

std::string escaped(const std::string& text);

class HtmlPage {
 public:
  explicit HtmlPage(const std::string& title);

  void heading(const std::string& text);
  void subheading(const std::string& text);
  void paragraph(const std::string& text);
  // Adds a note on missing data and the reason, set apart from the findings.
  void missing(const std::string& text);
  void list(const std::vector<std::string>& items);
  void table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows);
  // `svg` is inserted unchanged.
  void figure(const std::string& svg, const std::string& caption);
  std::string text() const;

 private:
  void element(const char* tag, const std::string& text, const char* kind = "");
  std::string body_;
  std::string title_;
};

}  // namespace tilewright::cli
