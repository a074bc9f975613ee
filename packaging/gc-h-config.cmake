# find_package(gc-h) defines the target gc-h::gc-h.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
if(NOT TARGET gc-h::gc-h)
    get_filename_component(gc_h_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
    add_library(gc-h::gc-h INTERFACE IMPORTED)
    set_target_properties(gc-h::gc-h PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES "${gc_h_prefix}/include/gc-h"
        INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()
