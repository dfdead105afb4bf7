//===- NvptxTarget.cpp - LLVM modules to PTX text -------------------------===//
//
// The lowering writes code that is already simple, so no middle-end
// optimisation runs, and only the passes of PtxPasses.cpp do: more would double
// the time.
//
//===----------------------------------------------------------------------===//
#include "codegen/target/NvptxTarget.h"

#include "codegen/target/PtxPasses.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/InitializePasses.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/PassRegistry.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

#include <chrono>
#include <map>
#include <memory>
#include <mutex>

// Declared here: llvm/Support/TargetSelect.h would pull in every target.
extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

using namespace tandem;

namespace {
struct TargetChoice {
  const char *name;
  int smVersion;
  /// The lowest PTX version that has all we print: old drivers load it, and
  /// ptxas 13 still assembles it.
  const char *features;
};
} // namespace

static constexpr TargetChoice targets[] = {
    {"sm_80", 80, "+ptx80"},
    {"sm_90a", 90, "+ptx80"},
};

static const TargetChoice *find(std::string_view name) {
  for (const TargetChoice &target : targets)
    if (name == target.name)
      return &target;
  return nullptr;
}

static Error unknownTarget(std::string_view name) {
  return Error("target: '" + std::string(name) +
               "' is unknown, expected sm_80 or sm_90a");
}

Result<int> tandem::smVersionOf(std::string_view target) {
  if (const TargetChoice *choice = find(target))
    return choice->smVersion;
  return unknownTarget(target);
}

Result<llvm::TargetMachine *> tandem::nvptxMachine(std::string_view target) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    // What the shared LLVM does when it is loaded, a static link must ask for:
    // the passes that code generation requires, as llc does.
    llvm::PassRegistry &registry = *llvm::PassRegistry::getPassRegistry();
    llvm::initializeCore(registry);
    llvm::initializeAnalysis(registry);
    llvm::initializeTransformUtils(registry);
    llvm::initializeScalarOpts(registry);
    llvm::initializeVectorization(registry);
    llvm::initializeCodeGen(registry);
    llvm::initializeTarget(registry);
  });
  const TargetChoice *choice = find(target);
  if (!choice)
    return unknownTarget(target);
  // A machine is not thread-safe and takes a millisecond to make.
  thread_local std::map<std::string, std::unique_ptr<llvm::TargetMachine>,
                        std::less<>>
      machines;
  std::unique_ptr<llvm::TargetMachine> &machine = machines[choice->name];
  if (!machine) {
    const llvm::Triple triple("nvptx64-nvidia-cuda");
    std::string why;
    const llvm::Target *nvptx = llvm::TargetRegistry::lookupTarget(triple, why);
    if (!nvptx)
      return Error("target: LLVM has no NVPTX backend: " + why);
    llvm::TargetOptions options;
    // No product and sum is fused but where tile code wrote an fma.
    options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
    machine.reset(nvptx->createTargetMachine(
        triple, choice->name, choice->features, options, llvm::Reloc::PIC_,
        std::nullopt, llvm::CodeGenOptLevel::Default));
  }
  return machine.get();
}

Result<std::string> tandem::printPtx(llvm::Module &module,
                                     llvm::TargetMachine &machine,
                                     double &optimizeMs, double &selectMs) {
  using Clock = std::chrono::steady_clock;
  auto since = [](Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start)
        .count();
  };
  auto start = Clock::now();
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  prepareForSelection(module);
  optimizeMs = since(start);

  start = Clock::now();
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (!addPtxPasses(passes, machine, stream))
    return Error("target: the NVPTX backend cannot print assembly");
  passes.run(module);
  selectMs = since(start);
  return std::string(text);
}
