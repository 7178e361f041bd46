# One library per folder: taso_add_library(ops …) makes the target taso_ops (taso::ops) from all sources below ops/.

# taso_add_library(NAME [STATIC] [FOLDER folder] [DEPENDS name…] [LIBRARIES target…]
#                  [EXCLUDE path…] [EXCLUDE_NAMES regex…])
# FOLDER defaults to NAME. DEPENDS names libraries of taso; those that are not built are skipped. A folder without
# sources gets no target.
function(taso_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "STATIC" "FOLDER" "DEPENDS;LIBRARIES;EXCLUDE;EXCLUDE_NAMES")
  set(folder ${name})
  if(arg_FOLDER)
    set(folder ${arg_FOLDER})
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${folder}/*.cpp)
  foreach(path IN LISTS arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "^${path}/")
  endforeach()
  foreach(pattern IN LISTS arg_EXCLUDE_NAMES)
    list(FILTER sources EXCLUDE REGEX "${pattern}")
  endforeach()
  if(NOT sources)
    return()
  endif()

  set(target taso_${name})
  set(kind)
  if(arg_STATIC)
    set(kind STATIC)
  endif()
  add_library(${target} ${kind} ${sources})
  add_library(taso::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/taso>)
  foreach(dependency IN LISTS arg_DEPENDS)
    if(TARGET taso_${dependency})
      target_link_libraries(${target} PUBLIC taso_${dependency})
    endif()
  endforeach()
  target_link_libraries(${target} PUBLIC ${arg_LIBRARIES})
  taso_compile_options(${target})
  taso_precompile(${target} library)
  taso_unite(${target} ${sources})
  set_property(GLOBAL APPEND PROPERTY TASO_LIBRARIES ${target})
  set_property(GLOBAL APPEND PROPERTY TASO_FOLDERS ${folder})
endfunction()

# taso_unite(TARGET source…)
# Sources of one folder are compiled together, eight at a time, with TASO_UNITY. Folders in which sources have local
# functions of the same names, one for each operator, are left out.
function(taso_unite target)
  if(NOT TASO_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # They are about names of other sources in the same unit.
  target_compile_options(${target} PRIVATE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  foreach(source IN LISTS ARGN)
    cmake_path(GET source PARENT_PATH folder)
    if(NOT folder MATCHES "^(runtime/host/inference|generator/selection|cli/gen)$")
      string(MAKE_C_IDENTIFIER ${folder} group)
      if(NOT DEFINED ${group}_size)
        set(${group}_size 0)
      endif()
      math(EXPR part "${${group}_size} / 8")
      math(EXPR ${group}_size "${${group}_size} + 1")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group}_${part})
    endif()
  endforeach()
endfunction()

# taso_add_messages(NAME file.proto)
# Compiles a message description into our library NAME. "file.pb.h" is found under the path of file.proto.
function(taso_add_messages name proto)
  cmake_path(REPLACE_EXTENSION proto LAST_ONLY pb OUTPUT_VARIABLE stem)
  set(source ${PROJECT_BINARY_DIR}/messages/${stem}.cc)
  set(header ${PROJECT_BINARY_DIR}/messages/${stem}.h)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/messages)
  add_custom_command(OUTPUT ${source} ${header}
    COMMAND protobuf::protoc --proto_path=${PROJECT_SOURCE_DIR} --cpp_out=${PROJECT_BINARY_DIR}/messages
            ${PROJECT_SOURCE_DIR}/${proto}
    DEPENDS ${proto} VERBATIM)
  # Generated sources are not ours to keep free of warnings.
  add_library(taso_${name}_messages OBJECT ${source} ${header})
  target_compile_features(taso_${name}_messages PUBLIC cxx_std_20)
  target_include_directories(taso_${name}_messages SYSTEM PUBLIC ${PROJECT_BINARY_DIR}/messages)
  target_link_libraries(taso_${name}_messages PUBLIC protobuf::libprotobuf)
  target_sources(taso_${name} PRIVATE $<TARGET_OBJECTS:taso_${name}_messages>)
  target_include_directories(taso_${name} SYSTEM PRIVATE ${PROJECT_BINARY_DIR}/messages)
  add_dependencies(taso_${name} taso_${name}_messages)
endfunction()

# taso_add_texts(NAME NAMESPACE file…)
# Compiles text files into our library NAME, as NUL-terminated texts: page.html becomes NAMESPACE::page_html.
function(taso_add_texts name namespace)
  set(source ${PROJECT_BINARY_DIR}/texts/${name}.cpp)
  set(files ${ARGN})
  list(TRANSFORM files PREPEND ${PROJECT_SOURCE_DIR}/)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -D NAMESPACE=${namespace} "-DFILES=${files}" -D OUTPUT=${source}
            -P ${PROJECT_SOURCE_DIR}/cmake/TasoText.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/TasoText.cmake VERBATIM)
  target_sources(taso_${name} PRIVATE ${source})
  set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# taso_add_programs(FOLDER LIBRARY [EXCLUDE name…])
# Each FOLDER/<name>_main.cpp becomes the program taso-<name>, with FOLDER/console/before_main.cpp. It is linked with
# our LIBRARY, and with our library <name> if that exists.
function(taso_add_programs folder library)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "EXCLUDE")
  file(GLOB mains CONFIGURE_DEPENDS ${folder}/*_main.cpp)
  foreach(main IN LISTS mains)
    cmake_path(GET main STEM name)
    string(REGEX REPLACE "_main$" "" name ${name})
    if(name IN_LIST arg_EXCLUDE)
      continue()
    endif()
    add_executable(taso-${name} ${main} ${folder}/console/before_main.cpp)
    target_link_libraries(taso-${name} PRIVATE
      $<TARGET_NAME_IF_EXISTS:taso_${name}> taso_with_prover taso_${library} ${taso_allocator})
    taso_compile_options(taso-${name})
    set_property(GLOBAL APPEND PROPERTY TASO_PROGRAMS taso-${name})
  endforeach()
endfunction()
