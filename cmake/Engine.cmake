# SPDX-License-Identifier: Apache-2.0
# gradstone_engine(NAME ... KIND framework|oracle|test SUMMARY ... SOURCES ... [VERSION v] [LINK ...] [OPTIONS ...] [MAIN file])
# makes, from an engine folder, the worker engine-NAME[@VERSION], its manifest beside it (what `list` and `--engine`
# read without starting it), the list of what conformance may find unsupported (of no graph, then unsupported.txt of the
# folder), the conformance tests of the engine interface linked against it, and the test conformance.NAME.

function(gradstone_engine)
  cmake_parse_arguments(ARG "" "NAME;VERSION;KIND;SUMMARY;MAIN" "SOURCES;LINK;OPTIONS" ${ARGN})
  set(id ${ARG_NAME})
  if(ARG_VERSION)
    set(id ${ARG_NAME}@${ARG_VERSION})
  endif()
  string(MAKE_C_IDENTIFIER ${id} target)
  # Objects, not an archive: worker, behind it on the link line, calls make_engine of it.
  add_library(engine_lib_${target} OBJECT ${ARG_SOURCES})
  target_link_libraries(engine_lib_${target} PUBLIC worker ${ARG_LINK})
  target_compile_options(engine_lib_${target} PRIVATE ${ARG_OPTIONS})

  if(NOT ARG_MAIN)
    set(ARG_MAIN ${PROJECT_SOURCE_DIR}/engines/main.cc)
  endif()
  add_executable(engine_${target} ${ARG_MAIN})
  target_link_libraries(engine_${target} PRIVATE engine_lib_${target})
  set_target_properties(engine_${target} PROPERTIES OUTPUT_NAME engine-${id})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/bin/engine-${id}.json CONTENT
       "{\"name\": \"@ARG_NAME@\", \"version\": \"@ARG_VERSION@\", \"kind\": \"@ARG_KIND@\", \"executable\": \"engine-@id@\", \"summary\": \"@ARG_SUMMARY@\"}\n" @ONLY)
  set_property(GLOBAL APPEND PROPERTY GRADSTONE_WORKERS engine_${target})
  install(TARGETS engine_${target} DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/gradstone)
  install(FILES ${CMAKE_BINARY_DIR}/bin/engine-${id}.json DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/gradstone)

  set(list)
  if(NOT ARG_KIND STREQUAL "test" OR EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/unsupported.txt)
    foreach(part ${PROJECT_SOURCE_DIR}/src/conformance/unsupported.txt ${CMAKE_CURRENT_SOURCE_DIR}/unsupported.txt)
      if(EXISTS ${part})
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${part})
        file(READ ${part} text)
        string(APPEND list "${text}")
      endif()
    endforeach()
    file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/bin/engine-${id}.unsupported CONTENT "${list}")
    install(FILES ${CMAKE_BINARY_DIR}/bin/engine-${id}.unsupported DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/gradstone)
  endif()

  file(GLOB own_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc)
  set(conformance)
  if(NOT ARG_KIND STREQUAL "test")
    file(GLOB conformance CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/conformance/*_test.cc)
    add_test(NAME conformance.${id} COMMAND $<TARGET_FILE:gradstone> conformance --engine ${id} --quiet)
    set_tests_properties(conformance.${id} PROPERTIES TIMEOUT 1500)
  endif()
  gradstone_tests(engine-${target} SOURCES ${own_tests} ${conformance} LINK engine_lib_${target} workloads)
endfunction()
