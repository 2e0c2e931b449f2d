// Draws by gnuplot, as SVG that can be embedded in an HTML page, several on one. It runs scripts and adapts
// their output; the caller decides the drawing.
#pragma once

#include <string>

namespace tilewright::cli {

// Returns the reason why gnuplot cannot be used; "" if it can.
std::string gnuplot_fault();

// Returns the <svg> element that `script` (without terminal and output) draws; `name` distinguishes its parts
// from those of other drawings on the page. Throws Error(io) with gnuplot's complaint.
std::string draw_svg(const std::string& name, int width, int height, const std::string& script);

// Quotes a text for a script.
std::string quoted_for_gnuplot(const std::string& text);

}  // namespace tilewright::cli
