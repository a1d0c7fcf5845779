# find_package(belay): the target belay::client, and belay::runtime where nlohmann-json is.
include(CMakeFindDependencyMacro)
find_dependency(PostgreSQL)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/belayTargets.cmake)
find_package(nlohmann_json QUIET)
if(nlohmann_json_FOUND)
    include(${CMAKE_CURRENT_LIST_DIR}/belayRuntimeTargets.cmake)
endif()
