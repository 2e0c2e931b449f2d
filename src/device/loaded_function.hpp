// The address of a function in a library opened at run time, which converts to the function's pointer type.
#pragma once

#include <dlfcn.h>

namespace tilewright {

struct LoadedFunction {
  void* address = nullptr;

  LoadedFunction(void* library, const char* name) : address(dlsym(library, name)) {}
  template <class F>
  operator F() const {
    return reinterpret_cast<F>(address);
  }
};

}  // namespace tilewright
