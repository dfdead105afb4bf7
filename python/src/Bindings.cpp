//===- Bindings.cpp - libtandem.so in Python ------------------------------===//
//
// As thin as it can be: handles become objects, a status becomes an exception,
// JSON stays text. NumPy is known only to the Python side, which passes a view
// as (dtype, shape, strides in elements, address).
//
//===----------------------------------------------------------------------===//
#include "Handles.h"

#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace py = pybind11;
using namespace tandem::python;

namespace {

/// Text of the library's as a Python-side string.
std::string take(char *text) {
  std::unique_ptr<char, Closer<tandem_free>> owner(text);
  return text ? text : "";
}

/// Raises what SEMANTICS of the C interface calls a status.
void check(tandem_status status, char *error) {
  if (status == TANDEM_OK)
    return;
  const std::string text = take(error);
  switch (status) {
  case TANDEM_INVALID:
    throw py::value_error(text);
  case TANDEM_UNKNOWN:
    throw py::key_error(text);
  default:
    throw std::runtime_error(text);
  }
}

/// Calls a fallible function without the interpreter's lock.
template <typename Call>
void calling(Call call) {
  char *error = nullptr;
  tandem_status status;
  {
    py::gil_scoped_release release;
    status = call(&error);
  }
  check(status, error);
}

using View = std::tuple<std::string, std::vector<int64_t>, std::vector<int64_t>,
                        uintptr_t>;

std::vector<tandem_view> viewsFrom(const std::vector<View> &views) {
  std::vector<tandem_view> all;
  for (const auto &[dtype, shape, strides, address] : views)
    all.push_back({dtype.c_str(), static_cast<int32_t>(shape.size()),
                   shape.data(), strides.data(),
                   reinterpret_cast<void *>(address)});
  return all;
}

/// For the C interface, whose texts end at a NUL: what has one inside would be
/// cut there without a word.
const char *whole(const std::string &text) {
  if (text.find('\0') != std::string::npos)
    throw py::value_error("the text has a NUL character in it");
  return text.c_str();
}

const char *orNull(const std::optional<std::string> &text) {
  return text ? whole(*text) : nullptr;
}

/// A Python function that answers requests of `tandem bench run`.
struct Peers {
  py::object ask;
  std::string answer;
};

/// No exception leaves it: the library is not made for them.
const char *answerOf(void *context, const char *request) {
  auto &peers = *static_cast<Peers *>(context);
  py::gil_scoped_acquire acquire;
  try {
    peers.answer = peers.ask(request).cast<std::string>();
  } catch (const std::exception &) {
    peers.answer = R"({"error": "the peers' driver raised an exception"})";
  }
  return peers.answer.c_str();
}

} // namespace

PYBIND11_MODULE(_native, m) {
  m.doc() = "The C interface of libtandem.so, see include/tandem/tandem.h.";

  m.def("version", [] { return std::string(tandem_version()); });
  m.def("ops", [] { return take(tandem_ops()); });

  m.def("infer", [](const std::string &op, const std::string &operands,
                    const std::string &params, const std::string &out) {
    char *results = nullptr;
    calling([&](char **error) {
      return tandem_infer(op.c_str(), operands.c_str(), params.c_str(),
                          out.c_str(), &results, error);
    });
    return take(results);
  });

  py::class_<Recipe>(m, "Recipe")
      .def_static("read",
                  [](const std::string &text, const std::string &file) {
                    tandem_recipe *out = nullptr;
                    const char *words = whole(text), *place = whole(file);
                    calling([&](char **error) {
                      return tandem_recipe_read(words, place, &out, error);
                    });
                    return Recipe{decltype(Recipe::handle)(out)};
                  })
      .def_static("from_insn",
                  [](const std::string &text, const std::string &file) {
                    tandem_recipe *out = nullptr;
                    const char *words = whole(text), *place = whole(file);
                    calling([&](char **error) {
                      return tandem_recipe_from_insn(words, place, &out, error);
                    });
                    return Recipe{decltype(Recipe::handle)(out)};
                  })
      .def_static("for_op",
                  [](const std::string &op, const std::vector<View> &inputs,
                     const std::optional<std::string> &params,
                     const std::optional<std::string> &outDtype) {
                    tandem_recipe *out = nullptr;
                    std::vector<tandem_view> views = viewsFrom(inputs);
                    const char *word = whole(op), *options = orNull(params),
                               *dtype = orNull(outDtype);
                    calling([&](char **error) {
                      return tandem_recipe_for_op(word, views.data(),
                                                  views.size(), options, dtype,
                                                  &out, error);
                    });
                    return Recipe{decltype(Recipe::handle)(out)};
                  })
      .def("json",
           [](const Recipe &r) {
             return take(tandem_recipe_json(r.handle.get()));
           })
      .def("warnings",
           [](const Recipe &r) {
             return take(tandem_recipe_warnings(r.handle.get()));
           })
      .def("insn",
           [](const Recipe &r) {
             char *text = nullptr;
             calling([&](char **error) {
               return tandem_recipe_insn(r.handle.get(), &text, error);
             });
             return take(text);
           })
      .def("outputs",
           [](const Recipe &r, const std::vector<View> &inputs) {
             char *text = nullptr;
             std::vector<tandem_view> views = viewsFrom(inputs);
             calling([&](char **error) {
               return tandem_recipe_outputs(r.handle.get(), views.data(),
                                            views.size(), &text, error);
             });
             return take(text);
           })
      .def("evaluate", [](const Recipe &r, const std::vector<View> &inputs,
                          const std::vector<View> &outputs) {
        std::vector<tandem_view> in = viewsFrom(inputs);
        std::vector<tandem_view> out = viewsFrom(outputs);
        calling([&](char **error) {
          return tandem_evaluate(r.handle.get(), in.data(), in.size(),
                                 out.data(), out.size(), error);
        });
      });

  py::class_<Program>(m, "Program")
      .def_static("compile",
                  [](const Recipe &recipe, const std::string &options) {
                    tandem_program *out = nullptr;
                    calling([&](char **error) {
                      return tandem_compile(recipe.handle.get(),
                                            options.c_str(), &out, error);
                    });
                    return Program{decltype(Program::handle)(out)};
                  })
      .def("describe", [](const Program &p) {
        return take(tandem_program_describe(p.handle.get()));
      });

  py::class_<Device>(m, "Device")
      .def_static("open",
                  [](const std::string &name) {
                    tandem_device *out = nullptr;
                    const char *word = whole(name);
                    calling([&](char **error) {
                      return tandem_device_open(word, &out, error);
                    });
                    return Device{decltype(Device::handle)(out)};
                  })
      .def("describe",
           [](const Device &d) {
             return take(tandem_device_describe(d.handle.get()));
           })
      .def("run",
           [](const Device &d, const Recipe &recipe, const std::string &options,
              const std::vector<View> &inputs,
              const std::vector<View> &outputs) {
             char *report = nullptr;
             std::vector<tandem_view> in = viewsFrom(inputs);
             std::vector<tandem_view> out = viewsFrom(outputs);
             calling([&](char **error) {
               tandem_status status =
                   tandem_run(d.handle.get(), recipe.handle.get(),
                              options.c_str(), in.data(), in.size(), out.data(),
                              out.size(), &report, error);
               // The error repeats what the report says.
               if (status != TANDEM_OK)
                 tandem_free(report);
               return status;
             });
             return take(report);
           })
      .def("check",
           [](const Device &d, const Recipe &recipe, const std::string &options,
              const std::vector<View> &inputs) {
             char *report = nullptr;
             std::vector<tandem_view> in = viewsFrom(inputs);
             calling([&](char **error) {
               return tandem_check(d.handle.get(), recipe.handle.get(),
                                   options.c_str(), in.data(), in.size(),
                                   &report, error);
             });
             return take(report);
           });

  addLaunchers(m);

  m.def("fuzz", [](const std::string &arguments) {
    char *report = nullptr;
    calling([&](char **error) {
      return tandem_fuzz(arguments.c_str(), &report, error);
    });
    return take(report);
  });
  m.def(
      "main",
      [](const std::vector<std::string> &arguments, const py::object &peers) {
        std::vector<const char *> words;
        for (const std::string &word : arguments)
          words.push_back(whole(word));
        Peers context{peers, ""};
        py::gil_scoped_release release;
        return tandem_main_with_peers(
            static_cast<int>(words.size()), words.data(),
            context.ask.is_none() ? nullptr : answerOf, &context);
      },
      py::arg("arguments"), py::arg("peers") = py::none());
}
