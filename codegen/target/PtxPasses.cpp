//===- PtxPasses.cpp - The passes between an LLVM module and PTX ----------===//
//
// LLVM's own order for NVPTX takes twice as long as this one and gives ptxas
// nothing that it does not find itself: measured over the kernels of all bench
// suites, registers and machine instructions after ptxas are the same within a
// few per cent. Left out are straight-line strength reduction, reassociation,
// loop strength reduction and the load vectoriser (the lowering writes
// addresses as base and offset and its loads as wide as they can be), and the
// machine passes that ptxas repeats. Kept are the split of constant offsets,
// one early CSE and CodeGenPrepare, whose short division replaces 64-bit ones.
//
//===----------------------------------------------------------------------===//
#include "codegen/target/PtxPasses.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar.h"

#include <map>
#include <vector>

using namespace tandem;

namespace {
/// TargetPassConfig keeps the step that builds selection to its subclasses.
struct SelectionStep : llvm::TargetPassConfig {
  using llvm::TargetPassConfig::addCoreISelPasses;
};
} // namespace

/// A struct that another block made (a product's accumulators: 128 fields) is
/// copied whole for each field that is taken out of it here. A freeze gives the
/// block one copy that all its fields share.
static void copyStructsOnce(llvm::BasicBlock &block) {
  constexpr size_t fewest = 4;
  std::map<llvm::Value *, std::vector<llvm::ExtractValueInst *>> fieldsOf;
  std::vector<llvm::Value *> order;
  for (llvm::Instruction &instruction : block) {
    auto *field = llvm::dyn_cast<llvm::ExtractValueInst>(&instruction);
    if (!field)
      continue;
    llvm::Value *aggregate = field->getAggregateOperand();
    auto *maker = llvm::dyn_cast<llvm::Instruction>(aggregate);
    if (!maker ||
        (maker->getParent() == &block && !llvm::isa<llvm::PHINode>(maker)))
      continue;
    std::vector<llvm::ExtractValueInst *> &fields = fieldsOf[aggregate];
    if (fields.empty())
      order.push_back(aggregate);
    fields.push_back(field);
  }
  for (llvm::Value *aggregate : order) {
    std::vector<llvm::ExtractValueInst *> &fields = fieldsOf[aggregate];
    if (fields.size() < fewest)
      continue;
    auto *copy = new llvm::FreezeInst(aggregate, "", fields[0]->getIterator());
    for (llvm::ExtractValueInst *field : fields)
      field->setOperand(0, copy);
  }
}

void tandem::prepareForSelection(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      copyStructsOnce(block);
}

bool tandem::addPtxPasses(llvm::legacy::PassManager &passes,
                          llvm::TargetMachine &machine,
                          llvm::raw_pwrite_stream &stream) {
  passes.add(new llvm::TargetLibraryInfoWrapperPass(machine.getTargetTriple()));
  llvm::TargetPassConfig *config = machine.createPassConfig(passes);
  config->setDisableVerify(true);
  passes.add(config);
  auto *machineModule = new llvm::MachineModuleInfoWrapperPass(&machine);
  passes.add(machineModule);
  passes.add(llvm::createTargetTransformInfoWrapperPass(
      machine.getTargetIRAnalysis()));
  passes.add(llvm::createPreISelIntrinsicLoweringPass());
  passes.add(llvm::createExpandIRInstsPass(machine.getOptLevel()));

  // At level None the backend adds only what correctness needs.
  const llvm::CodeGenOptLevel level = machine.getOptLevel();
  machine.setOptLevel(llvm::CodeGenOptLevel::None);
  config->addIRPasses();
  machine.setOptLevel(level);
  passes.add(llvm::createSeparateConstOffsetFromGEPPass());
  passes.add(llvm::createEarlyCSEPass());
  config->addCodeGenPrepare();
  config->addPassesToHandleExceptions();
  config->addISelPrepare();

  for (llvm::AnalysisID pass :
       {&llvm::EarlyTailDuplicateLegacyID, &llvm::OptimizePHIsLegacyID,
        &llvm::StackColoringLegacyID, &llvm::EarlyMachineLICMID,
        &llvm::MachineSinkingLegacyID, &llvm::PeepholeOptimizerLegacyID,
        &llvm::StackSlotColoringID, &llvm::MachineSchedulerID,
        &llvm::BranchFolderPassID, &llvm::RemoveRedundantDebugValuesID,
        &llvm::FixupStatepointCallerSavedID, &llvm::LiveDebugValuesID})
    config->disablePass(pass);
  if ((config->*&SelectionStep::addCoreISelPasses)())
    return false;
  config->addMachinePasses();
  config->setInitialized();
  return !machine.addAsmPrinter(passes, stream, nullptr,
                                llvm::CodeGenFileType::AssemblyFile,
                                machineModule->getMMI().getContext());
}
