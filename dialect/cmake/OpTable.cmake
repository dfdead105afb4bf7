# Derives the op table from the ODS file, so that ODS is the only list of ops.
#
# Sets TANDEM_OPS to the mnemonics of defined ops, writes
# refops/core/{Opcodes,OpTable}.inc to the build tree, and stops the configure
# step with a sentence when an op lacks its reference, lowering or lit test.
option(TANDEM_ALLOW_MISSING_PARTS
       "Only report ops that lack a part (for work in progress; never to land)"
       OFF)

# Sets `out` to the ops' files in the current folder. With
# TANDEM_ALLOW_MISSING_PARTS, an op without one gets an empty part, so that the
# rest of the work can go on: `header` declares it, `part` is its definition
# with @op@ for the mnemonic.
function(tandem_op_files out header part)
  set(files)
  foreach(op ${TANDEM_OPS})
    set(file ops/${op}.cpp)
    if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
      set(file ${CMAKE_CURRENT_BINARY_DIR}/missing/${op}.cpp)
      string(REPLACE "@op@" ${op} definition "${part}")
      file(CONFIGURE OUTPUT ${file} CONTENT
           "#include \"${header}\"\n${definition}\n" @ONLY)
    endif()
    list(APPEND files ${file})
  endforeach()
  set(${out} ${files} PARENT_SCOPE)
endfunction()

function(tandem_derive_op_table td)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(script ${PROJECT_SOURCE_DIR}/dialect/cmake/op_table.py)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY
               CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${td} ${script}
               ${PROJECT_SOURCE_DIR}/dialect/insn/InsnBase.td)
  execute_process(
    COMMAND ${LLVM_TOOLS_BINARY_DIR}/llvm-tblgen --dump-json
            ${PROJECT_SOURCE_DIR}/${td} -I ${PROJECT_SOURCE_DIR}
            -I ${TANDEM_MLIR_INCLUDE_DIR}
    COMMAND ${Python3_EXECUTABLE} ${script} ${PROJECT_BINARY_DIR}/refops/core
    WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
    OUTPUT_VARIABLE lines RESULTS_VARIABLE codes ERROR_VARIABLE errors
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT codes STREQUAL "0;0")
    message(FATAL_ERROR "${td}: the op table cannot be derived:\n${errors}")
  endif()
  string(REPLACE ";" "|" lines "${lines}")
  string(REPLACE "\n" ";" lines "${lines}")
  set(missing 0)
  foreach(line ${lines})
    string(REGEX REPLACE "\\|.*" "" op ${line})
    foreach(part "refops/ops/${op}.cpp:a reference with known answers"
                 "codegen/ops/${op}.cpp:a lowering"
                 "tests/lit/ops/${op}.mlir:a lit test")
      string(REGEX REPLACE ":.*" "" file ${part})
      string(REGEX REPLACE ".*:" "" what ${part})
      if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${file})
        if(TANDEM_ALLOW_MISSING_PARTS)
          math(EXPR missing "${missing} + 1")
          continue()
        endif()
        message(SEND_ERROR "${td} defines insn.${op}, but ${file} does not "
                "exist: write ${what}; see HACKING.md, \"Adding an op\"")
      endif()
    endforeach()
    list(APPEND ops ${op})
  endforeach()
  if(missing)
    message(STATUS "${td}: ${missing} parts of ops are missing")
  endif()
  set(TANDEM_OPS ${ops} PARENT_SCOPE)
endfunction()
