/*===- tandem.h - The C interface of libtandem.so -----------------*- C -*-===*\
|*
|* Recipes in, PTX out, results on a device, each checked against a reference.
|* libtandem.so is self-contained: it needs no LLVM, CUDA toolkit or driver to
|* load. Every tool and the Python module stand on these functions.
|*
|* Conventions
|*   - Objects are opaque; `tandem_X_close` ends one and takes NULL.
|*   - Text is UTF-8 and ends in 0. Text that a function gives is the caller's;
|*     tandem_free ends it. Descriptions are JSON.
|*   - A fallible function returns a tandem_status. When it is not TANDEM_OK,
|*     `*error` (if `error` is not NULL) is text to free: one or more messages,
|*     one a line, `place: what is wrong, actual and expected`; other results
|*     are left alone.
|*   - Functions may be called from several threads; one object at a time from
|*     one thread, but for devices, whose calls take turns.
|*
\*===----------------------------------------------------------------------===*/
#ifndef TANDEM_TANDEM_H
#define TANDEM_TANDEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
/* The library hides everything else. */
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

typedef enum tandem_status {
  TANDEM_OK = 0,
  /* The recipe, a view or an option is wrong. */
  TANDEM_INVALID = 1,
  /* A name (op, device, option, input) is not known. */
  TANDEM_UNKNOWN = 2,
  /* What was asked for is right and did not work: driver, compiler, file. */
  TANDEM_FAILED = 3
} tandem_status;

typedef struct tandem_recipe tandem_recipe;
typedef struct tandem_program tandem_program;
typedef struct tandem_device tandem_device;
typedef struct tandem_launcher tandem_launcher;

/* A tensor on the host. Strides count elements and are not negative; NULL means
 * contiguous. The dtype is a recipe name: float32, float16, bfloat16,
 * float8_e4m3fn, float8_e5m2, float64, int8, int32, int64, uint8. */
typedef struct tandem_view {
  const char *dtype;
  int32_t rank;
  const int64_t *shape;
  const int64_t *strides;
  void *data;
} tandem_view;

/* `0.1.0`; not to be freed. */
const char *tandem_version(void);

void tandem_free(char *text);

/* The instruction set: [{code, name, mnemonic, defined, signature, operands:
 * [{name, count: one|optional|one_or_more, dtype, dims}], results, params:
 * [{name, type, default, range, doc}], summary, description}]. */
char *tandem_ops(void);

/* The types of the results of `op` for operands of these types: `operands` is
 * [{dtype, shape}] with sizes and symbols, `params` a JSON object or NULL,
 * `out` {"dtype"?, "shape"?} or NULL, what the step itself declares. */
tandem_status tandem_infer(const char *op, const char *operands,
                           const char *params, const char *out, char **results,
                           char **error);

/*--- recipes ---------------------------------------------------------------*/

/* Reads and checks a recipe. All of its errors are reported at once, each with
 * its place in `file`, which is only used in messages. */
tandem_status tandem_recipe_read(const char *json, const char *file,
                                 tandem_recipe **recipe, char **error);

/* The same from the text of an `insn` module. */
tandem_status tandem_recipe_from_insn(const char *mlir, const char *file,
                                      tandem_recipe **recipe, char **error);

/* A recipe of one op for inputs like these (`data` is not read). `params` is a
 * JSON object or NULL, `out_dtype` a dtype name or NULL. */
tandem_status tandem_recipe_for_op(const char *op, const tandem_view *inputs,
                                   size_t num_inputs, const char *params,
                                   const char *out_dtype,
                                   tandem_recipe **recipe, char **error);

void tandem_recipe_close(tandem_recipe *recipe);

/* Canonical JSON; reading it gives an equal recipe. */
char *tandem_recipe_json(const tandem_recipe *recipe);

/* What is legal but probably not meant: a JSON list of sentences. */
char *tandem_recipe_warnings(const tandem_recipe *recipe);

/* The text of the recipe as an `insn` module. */
tandem_status tandem_recipe_insn(const tandem_recipe *recipe, char **mlir,
                                 char **error);

/* The outputs that a call with these inputs gives: [{name, dtype, shape}]. */
tandem_status tandem_recipe_outputs(const tandem_recipe *recipe,
                                    const tandem_view *inputs,
                                    size_t num_inputs, char **outputs,
                                    char **error);

/*--- compiling -------------------------------------------------------------*/

/* Compiles for contiguous, aligned operands. `options` is a JSON object or
 * NULL: {"target": "sm_90a" | "sm_80", "fuse": true, "set": {NAME: VALUE},
 * "dims": {SYMBOL: SIZE}, "stages": true, "cache": true}. Symbols that `dims`
 * does not bind are 64. */
tandem_status tandem_compile(const tandem_recipe *recipe, const char *options,
                             tandem_program **program, char **error);

void tandem_program_close(tandem_program *program);

/* {name, target, from_cache, explanation: [text], timings: [{stage, ms}],
 * contract, launches: [{kernel, steps, operands, ptx, stages: {tile, nvvm,
 * llvm}, record}]}: `record` is the launch record, as `tandem emulate` reads
 * it. */
char *tandem_program_describe(const tandem_program *program);

/*--- running ---------------------------------------------------------------*/

/* `auto`, `cuda`, `cuda:N`, `emulator` or `tile`. Without a GPU the error says
 * what is missing. */
tandem_status tandem_device_open(const char *name, tandem_device **device,
                                 char **error);
void tandem_device_close(tandem_device *device);

/* {kind, name, target, driver, facts: {...}}. */
char *tandem_device_describe(const tandem_device *device);

/* Compiles (or takes from the cache) what fits this very call and runs it.
 * `options` as for tandem_compile; without a target, the best that the device
 * runs. Inputs with the role `state` are updated in place. `*report`, if
 * `report` is not NULL, is {findings: [{kind, message, text, ...}],
 * index_errors: [{step, row}], thread_instructions}. A finding makes the status
 * TANDEM_FAILED, with the findings as the error. */
tandem_status tandem_run(tandem_device *device, const tandem_recipe *recipe,
                         const char *options, const tandem_view *inputs,
                         size_t num_inputs, const tandem_view *outputs,
                         size_t num_outputs, char **report, char **error);

/* The reference, in double, each output rounded once at its declared type. */
tandem_status tandem_evaluate(const tandem_recipe *recipe,
                              const tandem_view *inputs, size_t num_inputs,
                              const tandem_view *outputs, size_t num_outputs,
                              char **error);

/* Runs on `device` and compares with the reference within the bound that is
 * computed from the kernel's contract. Inputs are not changed. `*report` is
 * {verdict: passed|failed|unchecked, outputs: [{name, elements, unchecked,
 * ratio, worst, got, expected, bound, failure?}], findings}. A verdict is not
 * an error. */
tandem_status tandem_check(tandem_device *device, const tandem_recipe *recipe,
                           const char *options, const tandem_view *inputs,
                           size_t num_inputs, char **report, char **error);

/*--- launching -------------------------------------------------------------*/

/* A tensor in the memory of a device; of the host for `emulator` and `tile`,
 * which copy. `dtype` is a code: 0 float32, 1 float16, 2 bfloat16,
 * 3 float8_e4m3fn, 4 float8_e5m2, 5 int32, 6 int8, 8 float64, 9 int64, 10
 * uint8. Strides as in tandem_view. */
typedef struct tandem_tensor {
  int32_t dtype;
  int32_t rank;
  const int64_t *shape;
  const int64_t *strides;
  uint64_t address;
} tandem_tensor;

/* Launches a recipe many times. `options` as for tandem_compile; without a
 * target, the best that the device runs. Keeps a reference to nothing but the
 * device, which must outlive it. May be used from several threads. */
tandem_status tandem_launcher_make(tandem_device *device,
                                   const tandem_recipe *recipe,
                                   const char *options,
                                   tandem_launcher **launcher, char **error);
void tandem_launcher_close(tandem_launcher *launcher);

/* Binds tensors, first the inputs, then the outputs, and checks dtype, shape,
 * strides, alignment and overlap. The first call, and one that no kernel so far
 * fits, compiles; others allocate nothing. */
tandem_status tandem_launcher_bind(tandem_launcher *launcher,
                                   const tandem_tensor *tensors, size_t count,
                                   char **error);

/* Enqueues what was bound last on `stream` (a CUstream), unchecked, and
 * returns. `emulator` and `tile` have no streams: they run to the end. */
tandem_status tandem_launcher_enqueue(tandem_launcher *launcher,
                                      uint64_t stream, char **error);

/* Both in one. */
tandem_status tandem_launcher_call(tandem_launcher *launcher,
                                   const tandem_tensor *tensors, size_t count,
                                   uint64_t stream, char **error);

/* TANDEM_INVALID if a launch met an index outside its table, with step and row.
 * Only after its stream has been synchronised. */
tandem_status tandem_launcher_check(tandem_launcher *launcher, char **error);

/*--- the tester ------------------------------------------------------------*/

/* Searches for failures. `arguments` is a JSON list of the words that follow
 * `tandem fuzz` on a command line; `*report` is what `--json` prints. */
tandem_status tandem_fuzz(const char *arguments, char **report, char **error);

/* The `tandem` command. Gives its exit status. */
int tandem_main(int argc, const char *const *argv);

/* Asked by `tandem bench run` for kernels of other frameworks. A request and
 * its answer are JSON (docs/decisions/0008-one-timer.md); the answer stays
 * valid until the next request. */
typedef const char *(*tandem_peers)(void *context, const char *request);

/* tandem_main with peers to compare with. */
int tandem_main_with_peers(int argc, const char *const *argv,
                           tandem_peers peers, void *context);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif /* TANDEM_TANDEM_H */
