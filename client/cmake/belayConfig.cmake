# find_package(belay): the target belay::client.
include(CMakeFindDependencyMacro)
find_dependency(PostgreSQL)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/belayTargets.cmake)
