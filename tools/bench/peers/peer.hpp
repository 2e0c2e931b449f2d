// A peer: somebody else's way of multiplying a batch, held against ours. Each is used when it is found on the
// machine and is never required. A peer offers variants (ways of calling it) for a case, or says why it has
// none; which variant counts is decided by timing, and whether a variant is right is checked before.
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
  int callers = 1;  // how many threads may run the variant at the same time
};

struct PeerVariant {
  std::string name;  // "" for a peer with one way of being called
  std::function<void(const Operands&)> run;
};

struct PeerOffer {
  std::vector<PeerVariant> variants;
  std::string declined;  // the reason, when there are none

  static PeerOffer decline(std::string reason) { return {{}, std::move(reason)}; }
};

class Peer {
 public:
  virtual ~Peer() = default;
  virtual std::string name() const = 0;
  virtual std::string version() const = 0;
  // The same multiplication as this peer wants its operands stored: strided instead of interleaved, or
  // another block.
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

// Looks for every peer. Sets environment variables that their libraries read while loading (only where the
// user has not), so call it before any other code may load one of them and before threads exist.
PeerSearch find_peers();

// Names of all peers that this program knows, found or not.
std::vector<std::string> peer_names();

// Each adds itself or the reason why it is not there.
void find_openblas(PeerSearch& search);
void find_mkl(PeerSearch& search);
void find_libxsmm(PeerSearch& search);
void find_eigen(PeerSearch& search);
void find_loops(PeerSearch& search);
void find_loop_interleaved(PeerSearch& search);

// One problem through LIBXSMM as its users call it without keeping the kernel: dispatch, then call. No
// function without LIBXSMM or where it has no kernel.
PeerVariant libxsmm_dispatch_call(const PeerCase& request);

}  // namespace tilewright::peers
