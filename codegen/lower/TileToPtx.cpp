//===- TileToPtx.cpp - A module of tile kernels to PTX text ---------------===//
#include "codegen/lower/TileToPtx.h"

#include "codegen/lower/LowerTile.h"
#include "codegen/target/NvptxTarget.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/BasicPtxBuilderInterface.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <chrono>

using namespace mlir;
using namespace tandem;

namespace {
/// Collects error diagnostics of a context as messages.
struct Diagnostics {
  explicit Diagnostics(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
            return success();
          std::string text;
          llvm::raw_string_ostream stream(text);
          if (auto place = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
            stream << place.getFilename().getValue() << ":" << place.getLine()
                   << ":" << place.getColumn() << ": ";
          stream << diagnostic;
          errors.messages.push_back(std::move(text));
          return success();
        }) {}
  Error take(const char *otherwise) {
    if (errors.messages.empty())
      errors.messages.push_back(otherwise);
    return std::move(errors);
  }

  Error errors;
  ScopedDiagnosticHandler handler;
};

class Timer {
public:
  explicit Timer(std::vector<StageTiming> &timings) : timings(timings) {}
  void finish(const char *stage) {
    const auto now = std::chrono::steady_clock::now();
    timings.push_back(
        {stage,
         std::chrono::duration<double, std::milli>(now - start).count()});
    start = now;
  }

private:
  std::vector<StageTiming> &timings;
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
};
} // namespace

void tandem::registerTileToPtx(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect,
                  math::MathDialect, NVVM::NVVMDialect, scf::SCFDialect,
                  tile::TileDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

static std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

/// Ops of the nvvm dialect for which LLVM has no intrinsic (wgmma) print their
/// instruction themselves.
static LogicalResult printInstructions(ModuleOp module) {
  PatternRewriter rewriter(module.getContext());
  SmallVector<NVVM::BasicPtxBuilderInterface> ops;
  module.walk([&](NVVM::BasicPtxBuilderInterface op) {
    if (!op.hasIntrinsic())
      ops.push_back(op);
  });
  for (NVVM::BasicPtxBuilderInterface op : ops) {
    rewriter.setInsertionPoint(op);
    SmallVector<std::pair<Value, NVVM::PTXRegisterMod>> values;
    const bool mapsRegisters = op.getAsmValues(rewriter, values);
    NVVM::PtxBuilder builder(op, rewriter, mapsRegisters);
    for (auto &[value, modifier] : values)
      if (failed(builder.insertValue(value, modifier)))
        return failure();
    builder.buildAndReplaceOp();
  }
  return success();
}

Result<PtxOutput> tandem::tileToPtx(ModuleOp module, std::string_view target,
                                    const PtxOptions &options) {
  Result<int> smVersion = smVersionOf(target);
  if (!smVersion)
    return smVersion.error();
  Result<llvm::TargetMachine *> machine = nvptxMachine(target);
  if (!machine)
    return machine.error();

  MLIRContext *context = module.getContext();
  DialectRegistry registry;
  registerTileToPtx(registry);
  context->appendDialectRegistry(registry);
  context->loadDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();

  PtxOutput output;
  Diagnostics diagnostics(context);
  Timer timer(output.timings);
  if (failed(verify(module)))
    return diagnostics.take("tile: the module does not verify");
  timer.finish("verify");

  OwningOpRef<ModuleOp> lowered = lowerTile(module, *smVersion, output.shared);
  if (!lowered)
    return diagnostics.take("tile: a kernel cannot be lowered");
  timer.finish("lower");
  if (options.keepStages)
    output.nvvm = textOf(*lowered);

  if (failed(printInstructions(*lowered)))
    return diagnostics.take("nvvm: an instruction cannot be printed");
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> translated =
      translateModuleToLLVMIR(*lowered, llvmContext, "tandem");
  if (!translated)
    return diagnostics.take("nvvm: the module cannot be translated");
  timer.finish("translate");

  double optimizeMs = 0, selectMs = 0;
  if (options.keepStages) {
    llvm::raw_string_ostream stream(output.llvm);
    translated->print(stream, nullptr);
  }
  Result<std::string> ptx =
      printPtx(*translated, **machine, optimizeMs, selectMs);
  if (!ptx)
    return ptx.error();
  output.ptx = ptx.take();
  output.timings.push_back({"select", optimizeMs + selectMs});
  return output;
}

Result<PtxOutput> tandem::tileTextToPtx(std::string_view text,
                                        std::string_view file,
                                        std::string_view target,
                                        const PtxOptions &options) {
  DialectRegistry registry;
  registerTileToPtx(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  Diagnostics diagnostics(&context);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      llvm::StringRef(text.data(), text.size()), ParserConfig(&context),
      llvm::StringRef(file.data(), file.size()));
  if (!module)
    return diagnostics.take("tile: the text is not a module");
  return tileToPtx(*module, target, options);
}
