// Drawings by gnuplot as SVG that can stand inside an HTML page, several on one. It knows how a script is run
// and what its output needs; what is drawn is the caller's.
#pragma once

#include <string>

namespace tilewright::cli {

// Why gnuplot cannot be used; "" when it can.
std::string gnuplot_fault();

// The <svg> element that `script` (without terminal and output) draws; `name` tells its parts from those of
// other drawings on the page. Throws Error(io) with gnuplot's complaint.
std::string draw_svg(const std::string& name, int width, int height, const std::string& script);

// A text between quotes of a script.
std::string quoted_for_gnuplot(const std::string& text);

}  // namespace tilewright::cli
