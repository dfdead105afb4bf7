# What every user of MLIR shares: the component list, the link targets and the
# precompiled header.

# The one list of what tandem uses of MLIR and LLVM. The static link of
# libtandem.so takes exactly these and what they depend on.
set(TANDEM_MLIR_COMPONENTS
  MLIRArithDialect MLIRFuncDialect MLIRIR MLIRLLVMDialect
  MLIRLLVMIRToNVVMTranslation MLIRLLVMToLLVMIRTranslation MLIRMathDialect
  MLIRNVVMDialect MLIRNVVMToLLVMIRTranslation MLIRBuiltinToLLVMIRTranslation
  MLIRParser MLIRPass MLIRSCFDialect MLIRTargetLLVMIRExport MLIRTransforms)
set(TANDEM_LLVM_COMPONENTS
  LLVMNVPTXCodeGen LLVMNVPTXDesc LLVMNVPTXInfo LLVMCodeGen LLVMCore
  LLVMScalarOpts LLVMInstCombine LLVMTransformUtils LLVMAnalysis LLVMTarget
  LLVMSupport LLVMMC LLVMPasses LLVMVectorize)

# Debian's MLIR archives name the shared libLLVM as their dependency. A static
# link would get it beside the archives: two LLVMs in one process, and a library
# that does not run on a machine without LLVM. The archives of
# TANDEM_LLVM_COMPONENTS take its place.
get_property(imported DIRECTORY ${PROJECT_SOURCE_DIR} PROPERTY IMPORTED_TARGETS)
foreach(target ${imported})
  get_target_property(type ${target} TYPE)
  if(target MATCHES "^MLIR" AND type STREQUAL "STATIC_LIBRARY")
    get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
    if(links)
      list(REMOVE_ITEM links LLVM)
      set_target_properties(${target} PROPERTIES
                            INTERFACE_LINK_LIBRARIES "${links}")
    endif()
  endif()
endforeach()

# Tools and tests link the shared libraries: a link takes a second and needs
# little memory. tandem's own static libraries name only headers (tandem_mlir),
# so that libtandem.so can link the archives instead.
add_library(tandem_mlir_shared INTERFACE)
target_link_directories(tandem_mlir_shared INTERFACE ${LLVM_LIBRARY_DIRS})
target_link_libraries(tandem_mlir_shared INTERFACE MLIR LLVM)

# A file with MLIR headers takes about 6 s without, 2 s with this header. It is
# built once, with the flags that all users share.
set(TANDEM_MLIR_PCH ${CMAKE_CURRENT_LIST_DIR}/MlirPrecompiled.h)
file(WRITE ${PROJECT_BINARY_DIR}/mlir_pch.cpp "")
add_library(tandem_mlir_pch STATIC ${PROJECT_BINARY_DIR}/mlir_pch.cpp)
target_link_libraries(tandem_mlir_pch PUBLIC tandem_mlir)
target_precompile_headers(tandem_mlir_pch PRIVATE ${TANDEM_MLIR_PCH})
function(tandem_use_mlir_headers target)
  target_precompile_headers(${target} REUSE_FROM tandem_mlir_pch)
endfunction()
