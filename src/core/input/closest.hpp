// The word that was meant by one that is misspelt or cut short, for messages of the tool and of Python.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

// Returns the most similar of the words (a verb, a flag, a value, a keyword), whatever its capitals, else the
// first that has the letters of `word` in order and begins as it does ("transb": "transpose_b"), else "".
std::string closest(std::string_view word, const std::vector<std::string>& words);

}  // namespace tilewright
