#include "kernel/lu_panel/stencil.cuh"
template __global__ void tilewright::lu_panel<double, tilewright::LuPanelConfig{1, 256, 2, 32, tilewright::LuExchange::global}>(const tilewright::LuPanelArgs<double>);
template __global__ void tilewright::lu_panel<tilewright::Complex<double>, tilewright::LuPanelConfig{1, 256, 1, 32, tilewright::LuExchange::global}>(const tilewright::LuPanelArgs<tilewright::Complex<double>>);
template __global__ void tilewright::lu_panel<float, tilewright::LuPanelConfig{1, 256, 4, 32, tilewright::LuExchange::global}>(const tilewright::LuPanelArgs<float>);
