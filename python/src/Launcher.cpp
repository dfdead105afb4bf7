//===- Launcher.cpp - Launching from Python, without detours --------------===//
//
// Two types by hand: a call through pybind11 would look up and convert more
// than the launch itself costs. `Launcher(x, ..., y)` reads, checks and
// enqueues; `Launcher.prepare(x, ..., y)` gives a `Prepared`, whose call only
// enqueues.
//
//===----------------------------------------------------------------------===//
#include "Exchange.h"
#include "Handles.h"

#include <structmember.h>

#include <array>
#include <cstddef>
#include <string>

using namespace tandem::python;

namespace {

/// More operands than any recipe that is one kernel.
constexpr size_t maxTensors = 64;

struct Launcher {
  PyObject_HEAD vectorcallfunc call;
  tandem_launcher *handle;
  /// Both live as long as this.
  PyObject *device, *recipe;
  std::string *options;
  int32_t deviceType, deviceId;
};

struct Prepared {
  PyObject_HEAD vectorcallfunc call;
  tandem_launcher *handle;
  PyObject *device;
  /// Their memory is bound.
  PyObject *tensors;
  const ExchangeApi *api;
  int32_t deviceType, deviceId;
};

/// Tensors of one call, and the capsules that keep some of them.
class Arguments {
public:
  ~Arguments() {
    for (size_t i = 0; i < numCapsules; ++i)
      Py_DECREF(capsules[i]);
  }

  bool read(PyObject *const *objects, size_t number, int32_t deviceType,
            int32_t deviceId) {
    if (number > maxTensors) {
      PyErr_Format(PyExc_ValueError, "expected at most %zu tensors, got %zu",
                   maxTensors, number);
      return false;
    }
    for (count = 0; count < number; ++count) {
      const ExchangeApi *api = exchangeOf(objects[count]);
      DlTensor tensor;
      PyObject *capsule = nullptr;
      if (!readTensor(objects[count], api, tensor, capsule))
        return false;
      if (capsule)
        capsules[numCapsules++] = capsule;
      if (!convertTensor(tensor, deviceType, deviceId, count, tensors[count]))
        return false;
      if (!streams)
        streams = api;
    }
    return true;
  }

  std::array<tandem_tensor, maxTensors> tensors;
  size_t count = 0;
  /// Who knows the current stream; null: nobody.
  const ExchangeApi *streams = nullptr;

private:
  std::array<PyObject *, maxTensors> capsules;
  size_t numCapsules = 0;
};

/// Raises; the same exceptions as Bindings.cpp.
PyObject *raise(tandem_status status, char *error) {
  PyErr_SetString(status == TANDEM_INVALID   ? PyExc_ValueError
                  : status == TANDEM_UNKNOWN ? PyExc_KeyError
                                             : PyExc_RuntimeError,
                  error ? error : "");
  tandem_free(error);
  return nullptr;
}

/// The stream that the tensors' library works on, 0 where it has none.
bool currentStream(const ExchangeApi *api, int32_t deviceType, int32_t deviceId,
                   uint64_t &stream) {
  stream = 0;
  if (deviceType != DlTensor::cuda || !api || !api->currentStream)
    return true;
  void *current = nullptr;
  if (api->currentStream(deviceType, deviceId, &current) != 0)
    return false;
  stream = reinterpret_cast<uint64_t>(current);
  return true;
}

/// The stream of a call's keywords, if they name one.
bool streamOf(PyObject *const *values, PyObject *names, bool &isGiven,
              uint64_t &stream) {
  isGiven = names && PyTuple_GET_SIZE(names) > 0;
  if (!isGiven)
    return true;
  if (PyTuple_GET_SIZE(names) != 1 ||
      PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "stream") !=
          0) {
    PyErr_SetString(PyExc_TypeError, "the only keyword is stream");
    return false;
  }
  stream = PyLong_AsUnsignedLongLong(values[0]);
  return !PyErr_Occurred();
}

PyObject *callLauncher(PyObject *object, PyObject *const *args, size_t flags,
                       PyObject *names) {
  auto *self = reinterpret_cast<Launcher *>(object);
  const auto number = static_cast<size_t>(PyVectorcall_NARGS(flags));
  Arguments arguments;
  if (!arguments.read(args, number, self->deviceType, self->deviceId))
    return nullptr;
  uint64_t stream = 0;
  bool isGiven = false;
  if (!streamOf(args + number, names, isGiven, stream) ||
      (!isGiven && !currentStream(arguments.streams, self->deviceType,
                                  self->deviceId, stream)))
    return nullptr;
  char *error = nullptr;
  tandem_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = tandem_launcher_call(self->handle, arguments.tensors.data(),
                                arguments.count, stream, &error);
  Py_END_ALLOW_THREADS;
  if (status != TANDEM_OK)
    return raise(status, error);
  Py_RETURN_NONE;
}

PyObject *callPrepared(PyObject *object, PyObject *const *args, size_t flags,
                       PyObject *names) {
  auto *self = reinterpret_cast<Prepared *>(object);
  if (PyVectorcall_NARGS(flags) != 0) {
    PyErr_SetString(PyExc_TypeError, "a prepared launch has its tensors");
    return nullptr;
  }
  uint64_t stream = 0;
  bool isGiven = false;
  if (!streamOf(args, names, isGiven, stream) ||
      (!isGiven &&
       !currentStream(self->api, self->deviceType, self->deviceId, stream)))
    return nullptr;
  char *error = nullptr;
  tandem_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = tandem_launcher_enqueue(self->handle, stream, &error);
  Py_END_ALLOW_THREADS;
  if (status != TANDEM_OK)
    return raise(status, error);
  Py_RETURN_NONE;
}

PyObject *preparedType = nullptr, *launcherType = nullptr;

tandem_launcher *makeHandle(PyObject *device, PyObject *recipe,
                            const std::string &options) {
  auto *on = pybind11::handle(device).cast<Device &>().handle.get();
  auto *what = pybind11::handle(recipe).cast<Recipe &>().handle.get();
  tandem_launcher *handle = nullptr;
  char *error = nullptr;
  const tandem_status status =
      tandem_launcher_make(on, what, options.c_str(), &handle, &error);
  if (status != TANDEM_OK)
    raise(status, error);
  return handle;
}

PyObject *prepare(PyObject *object, PyObject *tensors) {
  auto *self = reinterpret_cast<Launcher *>(object);
  Arguments arguments;
  if (!arguments.read(&PyTuple_GET_ITEM(tensors, 0),
                      static_cast<size_t>(PyTuple_GET_SIZE(tensors)),
                      self->deviceType, self->deviceId))
    return nullptr;
  tandem_launcher *handle =
      makeHandle(self->device, self->recipe, *self->options);
  if (!handle)
    return nullptr;
  char *error = nullptr;
  tandem_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = tandem_launcher_bind(handle, arguments.tensors.data(),
                                arguments.count, &error);
  Py_END_ALLOW_THREADS;
  if (status != TANDEM_OK) {
    tandem_launcher_close(handle);
    return raise(status, error);
  }
  auto *made =
      PyObject_New(Prepared, reinterpret_cast<PyTypeObject *>(preparedType));
  if (!made) {
    tandem_launcher_close(handle);
    return nullptr;
  }
  made->call = callPrepared;
  made->handle = handle;
  made->device = Py_NewRef(self->device);
  made->tensors = Py_NewRef(tensors);
  made->api = arguments.streams;
  made->deviceType = self->deviceType;
  made->deviceId = self->deviceId;
  return reinterpret_cast<PyObject *>(made);
}

template <typename T>
PyObject *check(PyObject *object, PyObject *) {
  auto *self = reinterpret_cast<T *>(object);
  char *error = nullptr;
  tandem_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = tandem_launcher_check(self->handle, &error);
  Py_END_ALLOW_THREADS;
  if (status != TANDEM_OK)
    return raise(status, error);
  Py_RETURN_NONE;
}

void freeLauncher(PyObject *object) {
  auto *self = reinterpret_cast<Launcher *>(object);
  PyTypeObject *type = Py_TYPE(object);
  tandem_launcher_close(self->handle);
  Py_XDECREF(self->device);
  Py_XDECREF(self->recipe);
  delete self->options;
  PyObject_Free(object);
  Py_DECREF(type);
}

void freePrepared(PyObject *object) {
  auto *self = reinterpret_cast<Prepared *>(object);
  PyTypeObject *type = Py_TYPE(object);
  tandem_launcher_close(self->handle);
  Py_XDECREF(self->device);
  Py_XDECREF(self->tensors);
  PyObject_Free(object);
  Py_DECREF(type);
}

template <typename T>
PyObject *makeType(const char *name, destructor free, PyMethodDef *methods) {
  static PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET,
                                   offsetof(T, call), READONLY, nullptr},
                                  {nullptr, 0, 0, 0, nullptr}};
  PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void *>(free)},
      {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
      {Py_tp_members, members},
      {Py_tp_methods, methods},
      {0, nullptr}};
  PyType_Spec spec = {name, sizeof(T), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
                          Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      slots};
  PyObject *type = PyType_FromSpec(&spec);
  if (!type)
    throw pybind11::error_already_set();
  return type;
}

PyMethodDef launcherMethods[] = {
    {"prepare", prepare, METH_VARARGS,
     "Bind tensors to a launch that is only enqueued."},
    {"check", check<Launcher>, METH_NOARGS,
     "Raise ValueError if a launch met an index outside its table."},
    {nullptr, nullptr, 0, nullptr}};
PyMethodDef preparedMethods[] = {
    {"check", check<Prepared>, METH_NOARGS,
     "Raise ValueError if a launch met an index outside its table."},
    {nullptr, nullptr, 0, nullptr}};

} // namespace

void tandem::python::addLaunchers(pybind11::module_ &m) {
  launcherType = makeType<::Launcher>("tandem._native.Launcher", freeLauncher,
                                      launcherMethods);
  preparedType = makeType<::Prepared>("tandem._native.Prepared", freePrepared,
                                      preparedMethods);
  m.attr("Launcher") = pybind11::handle(launcherType);
  m.attr("Prepared") = pybind11::handle(preparedType);
  m.def("launcher",
        [](const pybind11::object &device, const pybind11::object &recipe,
           const std::string &options, int32_t deviceType, int32_t deviceId) {
          tandem_launcher *handle =
              makeHandle(device.ptr(), recipe.ptr(), options);
          if (!handle)
            throw pybind11::error_already_set();
          auto *made = PyObject_New(
              ::Launcher, reinterpret_cast<PyTypeObject *>(launcherType));
          if (!made) {
            tandem_launcher_close(handle);
            throw pybind11::error_already_set();
          }
          made->call = callLauncher;
          made->handle = handle;
          made->device = pybind11::object(device).release().ptr();
          made->recipe = pybind11::object(recipe).release().ptr();
          made->options = new std::string(options);
          made->deviceType = deviceType;
          made->deviceId = deviceId;
          return pybind11::reinterpret_steal<pybind11::object>(
              reinterpret_cast<PyObject *>(made));
        });
}
