// The machine that is calibrated, as calibration sees it: what it is, and how long one experiment takes. The
// real one is real_machine.hpp's; tests have one of known coefficients.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tune/calibrate/experiment.hpp"

namespace tilewright {

struct CalibratedHost {
  std::string device;        // the CPU, as records name it
  std::string architecture;  // its instruction set
  std::string blas, blas_version;
  int threads = 1;  // of its products
  std::int64_t memory_bytes = 0;
};

struct CalibratedGpu {
  int device = 0;  // its number
  std::string name, architecture, driver;
  std::string blas_version;  // of the vendor's; "" where there is none
  std::int64_t memory_bytes = 0;
  double memory_bytes_per_s = 0;  // by its clock and bus
};

class CalibrationMachine {
 public:
  virtual ~CalibrationMachine() = default;
  virtual const CalibratedHost& host() const = 0;
  virtual const std::vector<CalibratedGpu>& gpus() const = 0;
  // Why there are no GPUs; "" where there are.
  virtual std::string why_no_gpus() const = 0;
  // Whether a GPU reaches another's memory without a detour through the host's.
  virtual bool reaches(int gpu, int peer) const = 0;
  // Told once before its times: what is compiled for these products is compiled now.
  virtual void prepare(const std::vector<Experiment>&) {}
  // Times it once. Throws Error where it cannot be done here.
  virtual double seconds(const Experiment& experiment) = 0;
  // The clock of the budget.
  virtual double now() = 0;
};

}  // namespace tilewright
