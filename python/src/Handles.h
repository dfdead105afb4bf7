//===- Handles.h - Objects of the C interface in Python ---------*- C++ -*-===//
#ifndef TANDEM_PYTHON_SRC_HANDLES_H
#define TANDEM_PYTHON_SRC_HANDLES_H

#include "tandem/tandem.h"

#include <pybind11/pybind11.h>

#include <memory>

namespace tandem::python {

template <auto close>
struct Closer {
  template <typename T>
  void operator()(T *handle) const {
    close(handle);
  }
};

struct Recipe {
  std::unique_ptr<tandem_recipe, Closer<tandem_recipe_close>> handle;
};
struct Program {
  std::unique_ptr<tandem_program, Closer<tandem_program_close>> handle;
};
struct Device {
  std::unique_ptr<tandem_device, Closer<tandem_device_close>> handle;
};

/// Adds the types of Launcher.cpp to the module.
void addLaunchers(pybind11::module_ &m);

} // namespace tandem::python

#endif // TANDEM_PYTHON_SRC_HANDLES_H
