// Which experiments calibration makes on a machine: for each model the installation set that it is fitted to
// and the validation set that the fit does not see (Bernabe 2014, section 4). It times and fits nothing.
#pragma once

#include <string>
#include <vector>

#include "tune/calibrate/machine.hpp"

namespace tilewright {

struct CalibrationScope {
  bool quick = false;  // fewer and smaller ones
  std::vector<DType> dtypes{DType::f64, DType::f32, DType::c128, DType::c64};
};

// One model of one device: its experiments in the order in which they are made, smaller ones first.
struct CalibrationTask {
  std::string model;         // as wisdom names it
  int gpu = -1;              // the first of those that share the model; -1: of the host
  DType dtype = DType::f64;  // of products
  std::vector<Experiment> installation, validation;
};

// In the order in which later ones may build on earlier ones. GPUs of one name share their models.
std::vector<CalibrationTask> calibration_tasks(const CalibrationMachine& machine,
                                               const CalibrationScope& scope);

// What share of the budget it may take, beside the others'.
double weight_of(const Experiment& experiment);

// Bytes of the operands of a product.
double operand_bytes(const Experiment& gemm);

}  // namespace tilewright
