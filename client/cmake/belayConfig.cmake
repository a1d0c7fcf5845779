# find_package(belay): the targets belay::client and belay::runtime.
include(CMakeFindDependencyMacro)
find_dependency(PostgreSQL)
find_dependency(Threads)
find_dependency(nlohmann_json)
include(${CMAKE_CURRENT_LIST_DIR}/belayTargets.cmake)
