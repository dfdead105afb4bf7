//===- Exchange.h - Tensors of other libraries, read in C -------*- C++ -*-===//
//
// DLPack's structures, as far as a reader needs them, and a reader. A type that
// offers the C exchange interface (type attribute `__dlpack_c_exchange_api__`,
// DLPack 1.3) costs one call of a function; others are asked for a capsule by
// `__dlpack__`.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_PYTHON_SRC_EXCHANGE_H
#define TANDEM_PYTHON_SRC_EXCHANGE_H

#include "tandem/tandem.h"

#include <Python.h>

namespace tandem::python {

/// DLTensor.
struct DlTensor {
  enum Device : int32_t { cpu = 1, cuda = 2, managed = 13 };
  void *data;
  int32_t deviceType, deviceId;
  int32_t rank;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byteOffset;
};

/// DLPackExchangeAPI. Functions give 0, or -1 with a Python exception set.
struct ExchangeApi {
  uint32_t major, minor;
  ExchangeApi *previous;
  void *allocate;
  void *managedFromObject;
  void *managedToObject;
  /// The object keeps what \p tensor points at. May be null.
  int (*tensorFromObject)(void *object, DlTensor *tensor);
  int (*currentStream)(int32_t deviceType, int32_t deviceId, void **stream);
};

/// What the type of \p object offers; null if nothing. Asks a type once.
const ExchangeApi *exchangeOf(PyObject *object);

/// Describes \p object. \p capsule is set where it keeps the description (a new
/// reference). False with a Python exception set.
bool readTensor(PyObject *object, const ExchangeApi *api, DlTensor &tensor,
                PyObject *&capsule);

/// As the C interface has it. False where no dtype corresponds or the device is
/// another, with a Python exception set that names tensor \p index.
bool convertTensor(const DlTensor &from, int32_t deviceType, int32_t deviceId,
                   size_t index, tandem_tensor &to);

} // namespace tandem::python

#endif // TANDEM_PYTHON_SRC_EXCHANGE_H
