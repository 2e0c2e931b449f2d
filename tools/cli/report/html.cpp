// Formats elements as text.
#include "report/html.hpp"

#include <fmt/format.h>

namespace tilewright::cli {

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '"')
      safe += "&quot;";
    else
      safe += c;
  }
  return safe;
}

HtmlPage::HtmlPage(const std::string& title) : title_(title) { element("h1", title); }

void HtmlPage::element(const char* tag, const std::string& text, const char* kind) {
  const std::string attribute = *kind == '\0' ? "" : fmt::format(" class=\"{}\"", kind);
  body_ += fmt::format("<{}{}>{}</{}>\n", tag, attribute, escaped(text), tag);
}

void HtmlPage::heading(const std::string& text) { element("h2", text); }
void HtmlPage::subheading(const std::string& text) { element("h3", text); }
void HtmlPage::paragraph(const std::string& text) { element("p", text); }
void HtmlPage::missing(const std::string& text) { element("p", text, "missing"); }

void HtmlPage::list(const std::vector<std::string>& items) {
  body_ += "<ul>\n";
  for (const std::string& item : items) element("li", item);
  body_ += "</ul>\n";
}

void HtmlPage::table(const std::vector<std::string>& head,
                     const std::vector<std::vector<std::string>>& rows) {
  body_ += "<div class=\"table\"><table>\n<thead><tr>";
  for (const std::string& cell : head) body_ += fmt::format("<th>{}</th>", escaped(cell));
  body_ += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows) {
    body_ += "<tr>";
    for (const std::string& cell : row) body_ += fmt::format("<td>{}</td>", escaped(cell));
    body_ += "</tr>\n";
  }
  body_ += "</tbody></table></div>\n";
}

void HtmlPage::figure(const std::string& svg, const std::string& caption) {
  body_ += fmt::format("<figure>\n{}\n<figcaption>{}</figcaption>\n</figure>\n", svg, escaped(caption));
}

std::string HtmlPage::text() const {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{}</title>\n<style>\n"
      "body {{ font-family: sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em; line-height: "
      "1.45; }}\n"
      "table {{ border-collapse: collapse; font-size: 0.85em; }}\n"
      "th, td {{ border: 1px solid #cccccc; padding: 0.2em 0.5em; text-align: right; }}\n"
      "th {{ background: #f0f0f0; }}\n.table {{ overflow-x: auto; }}\n"
      "figure {{ margin: 1em 0; }}\nfigure svg {{ max-width: 100%; height: auto; }}\n"
      "figcaption {{ font-size: 0.9em; color: #333333; }}\n"
      ".missing {{ border-left: 4px solid #c08000; padding-left: 0.8em; }}\n"
      "</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      escaped(title_), body_);
}

}  // namespace tilewright::cli
