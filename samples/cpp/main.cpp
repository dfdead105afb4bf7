//===- main.cpp - A recipe from C++, through the C interface --------------===//
//
// Reads a recipe, runs its PTX on the emulator, and checks it.
//
//===----------------------------------------------------------------------===//
#include <tandem/tandem.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace {

constexpr const char *recipeText = R"({
  "name": "scaled_sum",
  "inputs": [{"name": "a", "dtype": "float32", "shape": ["M", 4]},
             {"name": "b", "dtype": "float32", "shape": [4]}],
  "outputs": [{"name": "y", "dtype": "float32", "shape": ["M", 4]}],
  "recipe": {"steps": [
    {"op": "add", "args": [{"in": 0}, {"in": 1}], "out": 0},
    {"op": "mul", "args": [{"s": 0}], "params": {"scale": 0.5}, "out": "final"}]}
})";

/// Prints the library's message and ends when a call failed.
void require(tandem_status status, char *error) {
  if (status == TANDEM_OK)
    return;
  std::fprintf(stderr, "%s\n", error);
  tandem_free(error);
  std::exit(1);
}

struct Close {
  void operator()(tandem_recipe *r) const { tandem_recipe_close(r); }
  void operator()(tandem_device *d) const { tandem_device_close(d); }
  void operator()(char *text) const { tandem_free(text); }
};

} // namespace

int main() {
  char *error = nullptr;
  tandem_recipe *readRecipe = nullptr;
  require(tandem_recipe_read(recipeText, "sample", &readRecipe, &error), error);
  std::unique_ptr<tandem_recipe, Close> recipe(readRecipe);
  tandem_device *opened = nullptr;
  require(tandem_device_open("emulator", &opened, &error), error);
  std::unique_ptr<tandem_device, Close> device(opened);

  float a[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}}, b[4] = {1, 1, 2, 2};
  float y[2][4] = {};
  const int64_t matrix[] = {2, 4}, row[] = {4};
  const tandem_view inputs[] = {{"float32", 2, matrix, nullptr, a},
                                {"float32", 1, row, nullptr, b}};
  const tandem_view output = {"float32", 2, matrix, nullptr, y};
  require(tandem_run(device.get(), recipe.get(), nullptr, inputs, 2, &output, 1,
                     nullptr, &error),
          error);
  for (const auto &line : y)
    std::printf("%g %g %g %g\n", line[0], line[1], line[2], line[3]);

  char *text = nullptr;
  require(tandem_check(device.get(), recipe.get(), nullptr, inputs, 2, &text,
                       &error),
          error);
  std::unique_ptr<char, Close> report(text);
  std::printf("%s\n", report.get());
  return 0;
}
