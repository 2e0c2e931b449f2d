// Refuses problems that the grammar names and this version does not implement: families of factorizations,
// emulated products, fixed bits. Readers of problems report them with that reason instead of as misspelt
// words.
#pragma once

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

#include "tilewright/types.hpp"

namespace tilewright {

struct UnbuiltPart {
  std::string_view part, what;
};
inline constexpr std::array unbuilt_families{UnbuiltPart{"potrf", "batched Cholesky factorizations"},
                                             UnbuiltPart{"getrf", "batched LU factorizations"},
                                             UnbuiltPart{"geqrf", "batched QR factorizations"},
                                             UnbuiltPart{"trsm", "batched triangular solves"},
                                             UnbuiltPart{"posv", "batched solves by Cholesky"},
                                             UnbuiltPart{"gesv", "batched solves by LU"},
                                             UnbuiltPart{"syev", "batched eigenvalues"},
                                             UnbuiltPart{"gesvd", "batched singular values"}};
inline constexpr std::array unbuilt_keys{
    UnbuiltPart{"math=emulated", "products by emulated arithmetic"},
    UnbuiltPart{"error_budget=", "products by emulated arithmetic"},
    UnbuiltPart{"bits=fixed", "results with the same bits on every machine"}};

// Throws Error(unsupported) if the text of a problem asks for one of them.
inline void refuse_unbuilt(std::string_view problem) {
  const auto refuse = [&](std::string_view part, std::string_view what) {
    throw Error(ErrorCode::unsupported, "problem",
                fmt::format("problem '{}': '{}' is not built in this version: {}", problem, part, what));
  };
  const std::string_view family = problem.substr(0, problem.find(':'));
  for (const UnbuiltPart& one : unbuilt_families)
    if (family == one.part) refuse(family, one.what);
  for (std::size_t at = problem.find(':'); at != std::string_view::npos; at = problem.find(':', at + 1)) {
    const std::string_view part = problem.substr(at + 1, problem.substr(at + 1).find(':'));
    for (const UnbuiltPart& one : unbuilt_keys)
      if (one.part.ends_with('=') ? part.starts_with(one.part) : part == one.part) refuse(part, one.what);
  }
}

}  // namespace tilewright
