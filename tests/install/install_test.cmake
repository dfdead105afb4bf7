# Installs BUILD into a fresh folder, builds SAMPLE against it, and runs both.
file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix}
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SAMPLE} -B ${WORK}/build
                -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${CXX}
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/build
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
set(ENV{TANDEM_CACHE_DIR} ${WORK}/cache)
execute_process(COMMAND ${WORK}/build/sample OUTPUT_VARIABLE text
                COMMAND_ERROR_IS_FATAL ANY)
if(NOT text MATCHES "^1 1.5 2.5 3\n3 3.5 4.5 5\n.*\"verdict\":\"passed\"")
  message(FATAL_ERROR "the sample printed:\n${text}")
endif()
execute_process(COMMAND ${prefix}/bin/tandem --version OUTPUT_VARIABLE text
                COMMAND_ERROR_IS_FATAL ANY)
message(STATUS "installed: ${text}")
