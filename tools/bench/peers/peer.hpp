// A peer: another library's implementation of a batch, to compare with tilewright. Peers that are found on
// the machine are used; none is required. A peer offers variants (calls) for a case, or gives a reason why it
// has none; timing decides which variant counts, after a check that it is right.
#pragma once

#include <complex>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/problem.hpp"

namespace tilewright::peers {

struct PeerCase {
  GemmProblem problem;  // as the peer stores it
  std::complex<double> alpha = 1;
  std::complex<double> beta = 0;
  int threads = 1;  // 1: the variant stays on the calling thread
  int callers = 1;  // threads that may run the variant concurrently
};

struct PeerVariant {
  std::string name;  // "" for a peer with one variant
  std::function<void(const Operands&)> run;
};

struct PeerOffer {
  std::vector<PeerVariant> variants;
  std::string declined;  // the reason if there are none

  static PeerOffer decline(std::string reason) { return {{}, std::move(reason)}; }
};

class Peer {
 public:
  virtual ~Peer() = default;
  virtual std::string name() const = 0;
  virtual std::string version() const = 0;
  // Returns the same multiplication with its operands stored as this peer needs them: strided instead of
  // interleaved, or another block.
  virtual GemmProblem stored(const GemmProblem& problem) const;
  virtual PeerOffer prepare(const PeerCase& request) const = 0;
};

struct PeerSearch {
  std::vector<std::unique_ptr<Peer>> found;
  struct Missing {
    std::string name;
    std::string reason;
  };
  std::vector<Missing> missing;

  void add(std::unique_ptr<Peer> peer) { found.push_back(std::move(peer)); }
};

// Looks for every peer. Sets environment variables that their libraries read while loading (unless the user
// has set them), so call it before any other code may load one of them and before threads exist.
PeerSearch find_peers();

// Returns the names of all peers that this program supports, found or not.
std::vector<std::string> peer_names();

// Each function adds its peer or the reason why it is missing.
void find_openblas(PeerSearch& search);
void find_mkl(PeerSearch& search);
void find_libxsmm(PeerSearch& search);
void find_eigen(PeerSearch& search);
void find_loops(PeerSearch& search);
void find_loop_interleaved(PeerSearch& search);

// Computes one problem through LIBXSMM as its users call it without keeping the kernel: dispatch, then call.
// The variant has no function without LIBXSMM or if LIBXSMM has no kernel.
PeerVariant libxsmm_dispatch_call(const PeerCase& request);

}  // namespace tilewright::peers
