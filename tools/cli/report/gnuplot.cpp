// Runs gnuplot and removes the parts of its SVG that only a separate file may have.
#include "report/gnuplot.hpp"

#include <fmt/format.h>

#include "core/child.hpp"
#include "tilewright/types.hpp"

namespace tilewright::cli {
namespace {

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

}  // namespace

std::string gnuplot_fault() {
  const ChildResult result = run_child({"gnuplot", "--version"});
  return result.status == 0 ? "" : "gnuplot was not found (Debian: gnuplot-nox)";
}

std::string draw_svg(const std::string& name, int width, int height, const std::string& script) {
  const std::string head = fmt::format(
      "set encoding utf8\nset terminal svg size {},{} dynamic name '{}' font 'sans-serif,12' background "
      "'#ffffff'\nset grid lc rgb '#dddddd'\nset key outside top center horizontal\n",
      width, height, name);
  const ChildResult result = run_child({"gnuplot"}, head + script);
  const std::size_t begin = result.output.find("<svg");
  if (result.status != 0 || begin == std::string::npos)
    throw Error(ErrorCode::io, name,
                fmt::format("gnuplot did not draw {}: {}", name,
                            result.status == 127 ? gnuplot_fault() : result.errors));
  std::string svg = result.output.substr(begin);
  // Marks and filters have the same names in every drawing, so the names get a prefix.
  for (const char quote : {'"', '\''}) {
    replace_all(svg, fmt::format(" id={}", quote), fmt::format(" id={}{}-", quote, name));
    replace_all(svg, fmt::format("href={}#", quote), fmt::format("href={}#{}-", quote, name));
  }
  replace_all(svg, "url(#", fmt::format("url(#{}-", name));
  return svg;
}

std::string quoted_for_gnuplot(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '_' || c == '^' || c == '{' || c == '}' || c == '@' || c == '&') quoted += "\\\\";
    quoted += c == '\n' ? ' ' : c;
  }
  return quoted + '"';
}

}  // namespace tilewright::cli
