// What a hub consists of and what it stores, as text that tests compare; and the roles and
// databases of the tests of upgrade_hub. The hub is always called "old".
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cluster.hpp"

namespace belay::test {

// Makes the roles that own and use the hub. Once per cluster.
void make_upgrade_roles(Cluster& cluster);

// A database in which upgrade_owner may have hubs.
void make_upgrade_database(Cluster& cluster, const std::string& database);

// A database with a hub "old" of upgrade_owner; the other roles have the level of their name.
void make_fresh(Cluster& cluster, const std::string& database);

// Dumps a database and restores it as another one.
void dump_and_restore(Cluster& cluster, const std::string& from, const std::string& to);

// What the hub is made of, one line for each part, sorted: schema, tables, columns, constraints,
// indexes, sequences, functions, views, comments, owners, grants.
std::vector<std::string> shape(Conn& conn);

// The rows of each of the hub's tables, and the state of each of its sequences, as text, sorted.
std::map<std::string, std::vector<std::string>> contents(Conn& conn);

}  // namespace belay::test
