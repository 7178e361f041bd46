# A room is a layer is a library: taso_add_library(ops …) makes the target taso_ops (taso::ops) of all sources below
# ops/.

# taso_add_library(NAME [STATIC] [FOLDER folder] [DEPENDS name…] [LIBRARIES target…]
#                  [EXCLUDE path…] [EXCLUDE_NAMES regex…])
# FOLDER is NAME unless it is given. DEPENDS names libraries of ours; those that are not built are left out. A folder
# without sources gives no target.
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
  set_property(GLOBAL APPEND PROPERTY TASO_LIBRARIES ${target})
  set_property(GLOBAL APPEND PROPERTY TASO_FOLDERS ${folder})
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

# taso_add_programs(FOLDER LIBRARY [EXCLUDE name…])
# Every FOLDER/<name>_main.cpp is the program taso-<name>, linked with our LIBRARY, and with our library <name> if there
# is one.
function(taso_add_programs folder library)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "EXCLUDE")
  file(GLOB mains CONFIGURE_DEPENDS ${folder}/*_main.cpp)
  foreach(main IN LISTS mains)
    cmake_path(GET main STEM name)
    string(REGEX REPLACE "_main$" "" name ${name})
    if(name IN_LIST arg_EXCLUDE)
      continue()
    endif()
    add_executable(taso-${name} ${main})
    target_link_libraries(taso-${name} PRIVATE $<TARGET_NAME_IF_EXISTS:taso_${name}> taso_${library} ${taso_allocator})
    taso_compile_options(taso-${name})
    set_property(GLOBAL APPEND PROPERTY TASO_PROGRAMS taso-${name})
  endforeach()
endfunction()
