// Texts that users write in flags and variables: objectives, bytes, integers and lists of GPUs.
#include "core/objective.hpp"

#include <algorithm>

#include "core/quantity.hpp"
#include "target.hpp"

namespace tilewright::fuzz {

void one_input(const std::string& input) {
  if (const auto bytes = bytes_from_text(input)) require(*bytes >= 1, "bytes are positive");
  if (const auto gpus = gpus_from_text(input))
    require(std::all_of(gpus->begin(), gpus->end(), [](int gpu) { return gpu >= 0; }), "GPUs count from 0");
  if (const auto integer = integer_from_text(input))
    require(integer_from_text(std::to_string(*integer)) == integer, "an integer's text is that integer");
  const TuneObjective objective = TuneObjective::parse(input, "objective");
  const std::string text = objective.text();
  require(TuneObjective::parse(text, "objective").text() == text, "the text of an objective means it");
}

std::vector<std::string> seeds() {
  return {"time",    "energy", "edp", "alpha=0.7", "energy_within=5%",    "energy_within=0.05", "8GiB",
          "1.5e3MB", "0,2",    "3,",  "1e6",       "-9223372036854775808"};
}

}  // namespace tilewright::fuzz
