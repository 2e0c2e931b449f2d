// The list of peers, and code that most of them share: they need plain column-major matrices.
#include "peer.hpp"

namespace tilewright::peers {

GemmProblem Peer::stored(const GemmProblem& problem) const {
  if (!is_interleaved(problem.layout)) return problem;
  GemmProblem strided = problem;
  strided.layout = Layout::strided;
  strided.block = 0;
  strided.stride_a = strided.stride_b = strided.stride_c = 0;
  return packed(strided);
}

PeerSearch find_peers() {
  PeerSearch search;
  find_openblas(search);
  find_mkl(search);
  find_libxsmm(search);
  find_eigen(search);
  find_loops(search);
  find_loop_interleaved(search);
  return search;
}

std::vector<std::string> peer_names() {
  return {"openblas",       "mkl",   "mkl_jit",  "mkl_compact", "libxsmm",
          "libxsmm_packed", "eigen", "loop_ijk", "loop_ikj",    "loop_interleaved"};
}

}  // namespace tilewright::peers
