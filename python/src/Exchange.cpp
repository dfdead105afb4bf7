//===- Exchange.cpp - Tensors of other libraries, read in C ---------------===//
#include "Exchange.h"

#include <array>

using namespace tandem::python;

namespace {
/// DLManagedTensor, of which a reader needs the first part.
struct ManagedTensor {
  DlTensor tensor;
};

/// A type that was asked before. It is kept alive: its address names it.
struct KnownType {
  PyTypeObject *type = nullptr;
  const ExchangeApi *api = nullptr;
};
} // namespace

/// From the type's attribute; null where there is none that can be used.
static const ExchangeApi *lookUp(PyTypeObject *type) {
  PyObject *capsule = PyObject_GetAttrString(reinterpret_cast<PyObject *>(type),
                                             "__dlpack_c_exchange_api__");
  const ExchangeApi *api = nullptr;
  if (capsule && PyCapsule_IsValid(capsule, "dlpack_exchange_api"))
    api = static_cast<const ExchangeApi *>(
        PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
  PyErr_Clear();
  Py_XDECREF(capsule);
  // Newer versions keep the older ones reachable.
  while (api && api->major != 1)
    api = api->previous;
  return api && api->tensorFromObject ? api : nullptr;
}

const ExchangeApi *tandem::python::exchangeOf(PyObject *object) {
  static std::array<KnownType, 8> known;
  static size_t next = 0;
  PyTypeObject *type = Py_TYPE(object);
  for (const KnownType &one : known)
    if (one.type == type)
      return one.api;
  const ExchangeApi *api = lookUp(type);
  KnownType &place = known[next++ % known.size()];
  Py_INCREF(type);
  PyTypeObject *old = place.type;
  place = {type, api};
  Py_XDECREF(old);
  return api;
}

/// The device type that `__dlpack_device__` tells; -1 with an exception set.
static long deviceTypeOf(PyObject *object) {
  PyObject *device = PyObject_CallMethod(object, "__dlpack_device__", nullptr);
  long type = -1;
  if (device && PyTuple_Check(device) && PyTuple_GET_SIZE(device) == 2)
    type = PyLong_AsLong(PyTuple_GET_ITEM(device, 0));
  else if (device)
    PyErr_SetString(PyExc_TypeError, "__dlpack_device__ gave no pair");
  Py_XDECREF(device);
  return type;
}

bool tandem::python::readTensor(PyObject *object, const ExchangeApi *api,
                                DlTensor &tensor, PyObject *&capsule) {
  if (api)
    return api->tensorFromObject(object, &tensor) == 0;
  if (!PyObject_HasAttrString(object, "__dlpack__")) {
    PyErr_Format(PyExc_TypeError, "expected a tensor with __dlpack__, got %s",
                 Py_TYPE(object)->tp_name);
    return false;
  }
  const long type = deviceTypeOf(object);
  if (type == -1 && PyErr_Occurred())
    return false;
  PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
  PyObject *none = PyTuple_New(0);
  // -1: the caller sees to the order of streams.
  PyObject *stream =
      type == DlTensor::cpu ? nullptr : Py_BuildValue("{s:i}", "stream", -1);
  capsule = method && none ? PyObject_Call(method, none, stream) : nullptr;
  Py_XDECREF(stream);
  Py_XDECREF(none);
  Py_XDECREF(method);
  if (!capsule)
    return false;
  auto *managed =
      static_cast<ManagedTensor *>(PyCapsule_GetPointer(capsule, "dltensor"));
  if (!managed) {
    Py_CLEAR(capsule);
    return false;
  }
  // The capsule is not renamed, so that it frees what it holds.
  tensor = managed->tensor;
  return true;
}

/// The code of a dtype; -1 for none.
static int32_t dtypeOf(const DlTensor &tensor) {
  if (tensor.lanes != 1)
    return -1;
  switch (tensor.code << 8 | tensor.bits) {
  case 2 << 8 | 32:
    return 0; // float32
  case 2 << 8 | 16:
    return 1; // float16
  case 4 << 8 | 16:
    return 2; // bfloat16
  case 10 << 8 | 8:
    return 3; // float8_e4m3fn
  case 12 << 8 | 8:
    return 4; // float8_e5m2
  case 0 << 8 | 32:
    return 5; // int32
  case 0 << 8 | 8:
    return 6; // int8
  case 2 << 8 | 64:
    return 8; // float64
  case 0 << 8 | 64:
    return 9; // int64
  case 1 << 8 | 8:
    return 10; // uint8
  default:
    return -1;
  }
}

bool tandem::python::convertTensor(const DlTensor &from, int32_t deviceType,
                                   int32_t deviceId, size_t index,
                                   tandem_tensor &to) {
  const bool isHere =
      from.deviceType == deviceType
          ? from.deviceId == deviceId || deviceType == DlTensor::cpu
          : deviceType == DlTensor::cuda &&
                from.deviceType == DlTensor::managed;
  if (!isHere) {
    PyErr_Format(
        PyExc_ValueError, "tensor %zu: expected device (%d, %d), got (%d, %d)",
        index, static_cast<int>(deviceType), static_cast<int>(deviceId),
        static_cast<int>(from.deviceType), static_cast<int>(from.deviceId));
    return false;
  }
  to.dtype = dtypeOf(from);
  if (to.dtype < 0) {
    PyErr_Format(PyExc_ValueError,
                 "tensor %zu: no dtype is code %d with %d bits and %d lanes",
                 index, int(from.code), int(from.bits), int(from.lanes));
    return false;
  }
  to.rank = from.rank;
  to.shape = from.shape;
  to.strides = from.strides;
  to.address = reinterpret_cast<uint64_t>(from.data) + from.byteOffset;
  return true;
}
