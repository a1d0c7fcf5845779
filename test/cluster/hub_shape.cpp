#include "hub_shape.hpp"

namespace belay::test {
namespace {

constexpr const char* kLevels[] = {"client", "worker", "operator", "monitor"};

std::vector<std::string> column(const Rows& rows) {
    std::vector<std::string> values;
    for (int row = 0; row < rows.size(); ++row) {
        values.push_back(rows.at(row, 0).value_or("NULL"));
    }
    return values;
}

// Every line names its object, so that what differs can be read off.
constexpr const char* kShape = R"sql(
WITH relation AS (
    SELECT c.*, c.oid::regclass::text AS name FROM pg_class AS c
     WHERE c.relnamespace = 'old'::regnamespace AND c.relkind IN ('r', 'v', 'S', 'i')
), granted (object, acl) AS (
    SELECT 'schema', coalesce(n.nspacl, acldefault('n', n.nspowner)) FROM pg_namespace AS n WHERE n.nspname = 'old'
    UNION ALL
    SELECT 'function ' || p.oid::regprocedure, coalesce(p.proacl, acldefault('f', p.proowner))
      FROM pg_proc AS p WHERE p.pronamespace = 'old'::regnamespace
    UNION ALL
    SELECT 'relation ' || r.name,
           coalesce(r.relacl, acldefault(CASE r.relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", r.relowner))
      FROM relation AS r WHERE r.relkind <> 'i'
    UNION ALL
    SELECT format('column %s.%s', r.name, a.attname), a.attacl
      FROM relation AS r JOIN pg_attribute AS a ON a.attrelid = r.oid WHERE a.attacl IS NOT NULL
)
SELECT line FROM (
    SELECT format('schema of %s: %s', n.nspowner::regrole, obj_description(n.oid, 'pg_namespace'))
      FROM pg_namespace AS n WHERE n.nspname = 'old'
    UNION ALL
    SELECT format('relation %s: kind %s of %s, persistence %s, method %s, tablespace %s, replica %s, security %s %s, options %s, toast %s: %s',
                  r.name, r.relkind, r.relowner::regrole, r.relpersistence, m.amname, r.reltablespace, r.relreplident,
                  r.relrowsecurity, r.relforcerowsecurity, r.reloptions, t.reloptions, obj_description(r.oid, 'pg_class'))
      FROM relation AS r LEFT JOIN pg_am AS m ON m.oid = r.relam LEFT JOIN pg_class AS t ON t.oid = r.reltoastrelid
    UNION ALL
    SELECT format('column %s %s: %s %s, collation %s, not null %s, default %s, identity %s, generated %s, storage %s, compression %s, statistics %s, options %s: %s',
                  r.name, (SELECT count(*) FROM pg_attribute AS b
                            WHERE b.attrelid = r.oid AND b.attnum BETWEEN 1 AND a.attnum AND NOT b.attisdropped),
                  a.attname, format_type(a.atttypid, a.atttypmod), a.attcollation::regcollation, a.attnotnull,
                  pg_get_expr(d.adbin, d.adrelid), a.attidentity, a.attgenerated, a.attstorage, a.attcompression,
                  nullif(a.attstattarget, -1),
                  -- Some servers number the changes of a table here.
                  (SELECT array_agg(o) FROM unnest(a.attoptions) AS o WHERE o !~ '^pg_attver='),
                  col_description(r.oid, a.attnum))
      FROM relation AS r JOIN pg_attribute AS a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
      LEFT JOIN pg_attrdef AS d ON d.adrelid = r.oid AND d.adnum = a.attnum
    UNION ALL
    SELECT format('dropped columns of %s', r.name) FROM relation AS r JOIN pg_attribute AS a ON a.attrelid = r.oid
     WHERE a.attisdropped
    UNION ALL
    SELECT format('constraint %s on %s: %s, validated %s, deferrable %s: %s', k.conname, r.name, pg_get_constraintdef(k.oid),
                  k.convalidated, k.condeferrable, obj_description(k.oid, 'pg_constraint'))
      FROM pg_constraint AS k JOIN relation AS r ON r.oid = k.conrelid
    UNION ALL
    SELECT format('index %s, valid %s, unique %s, primary %s, clustered %s', pg_get_indexdef(i.indexrelid), i.indisvalid AND i.indisready,
                  i.indisunique, i.indisprimary, i.indisclustered)
      FROM pg_index AS i JOIN relation AS r ON r.oid = i.indexrelid
    UNION ALL
    SELECT format('sequence %s %s, owned by %s', r.name,
                  row(s.seqtypid::regtype, s.seqstart, s.seqincrement, s.seqmax, s.seqmin, s.seqcache, s.seqcycle),
                  (SELECT o.refobjid::regclass FROM pg_depend AS o
                    WHERE o.classid = 'pg_class'::regclass AND o.objid = r.oid AND o.deptype IN ('a', 'i')
                      AND o.refclassid = 'pg_class'::regclass))
      FROM relation AS r JOIN pg_sequence AS s ON s.seqrelid = r.oid
    UNION ALL
    SELECT format('function of %s: %s: %s', p.proowner::regrole, pg_get_functiondef(p.oid), obj_description(p.oid, 'pg_proc'))
      FROM pg_proc AS p WHERE p.pronamespace = 'old'::regnamespace
    UNION ALL
    SELECT format('view %s %s', r.name, pg_get_viewdef(r.oid)) FROM relation AS r WHERE r.relkind = 'v'
    UNION ALL
    SELECT format('grant on %s to %s of %s by %s, grantable %s', g.object,
                  CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END, a.privilege_type,
                  a.grantor::regrole, a.is_grantable)
      FROM granted AS g, aclexplode(g.acl) AS a
    UNION ALL
    SELECT format('trigger %s on %s', t.tgname, r.name) FROM pg_trigger AS t JOIN relation AS r ON r.oid = t.tgrelid
    UNION ALL
    SELECT format('rule %s on %s', w.rulename, r.name) FROM pg_rewrite AS w JOIN relation AS r ON r.oid = w.ev_class
    UNION ALL
    SELECT format('policy %s on %s', p.polname, r.name) FROM pg_policy AS p JOIN relation AS r ON r.oid = p.polrelid
    UNION ALL
    SELECT format('type %s', t.typname) FROM pg_type AS t
     WHERE t.typnamespace = 'old'::regnamespace AND t.typrelid = 0 AND t.typelem = 0
    UNION ALL
    SELECT format('member of extension %s: %s', e.extname, pg_describe_object(d.classid, d.objid, d.objsubid))
      FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass
     WHERE d.deptype = 'e' AND (d.objid IN (SELECT r.oid FROM relation AS r)
        OR d.objid IN (SELECT p.oid FROM pg_proc AS p WHERE p.pronamespace = 'old'::regnamespace))
) AS lines (line)
ORDER BY line COLLATE "C"
)sql";

}  // namespace

void make_upgrade_roles(Cluster& cluster) {
    Conn conn = cluster.connect();
    conn.exec("CREATE ROLE upgrade_owner LOGIN");
    for (const std::string level : kLevels) {
        conn.exec("CREATE ROLE upgrade_" + level + " LOGIN");
    }
}

void make_upgrade_database(Cluster& cluster, const std::string& database) {
    cluster.connect().exec("CREATE DATABASE " + database + " TEMPLATE template0");
    Conn conn = cluster.connect(database);
    conn.exec("CREATE EXTENSION belay");
    conn.exec("GRANT USAGE ON LANGUAGE belay TO upgrade_owner");
    conn.exec("GRANT CREATE ON DATABASE " + database + " TO upgrade_owner");
}

void make_fresh(Cluster& cluster, const std::string& database) {
    make_upgrade_database(cluster, database);
    Conn conn = cluster.connect(database, "upgrade_owner");
    conn.exec("SELECT belay.create_hub('old')");
    for (const std::string level : kLevels) {
        conn.exec("SELECT belay.grant_hub('old', 'upgrade_" + level + "', '" + level + "')");
    }
}

void dump_and_restore(Cluster& cluster, const std::string& from, const std::string& to) {
    const std::string file = cluster.file(from + ".dump");
    cluster.run({"pg_dump", "-Fc", "-n", "old", "-f", file, from});
    make_upgrade_database(cluster, to);
    cluster.run({"pg_restore", "--exit-on-error", "-1", "-d", to, file});
}

std::vector<std::string> shape(Conn& conn) {
    conn.exec("SET search_path = pg_catalog");
    auto lines = column(conn.exec(kShape));
    conn.exec("RESET search_path");
    return lines;
}

std::map<std::string, std::vector<std::string>> contents(Conn& conn) {
    std::map<std::string, std::vector<std::string>> all;
    const std::string names =
        "SELECT relname FROM pg_class WHERE relnamespace = "
        "'old'::regnamespace AND relkind = ";
    conn.exec("SET timezone = 'UTC'");
    for (const auto& table : column(conn.exec(names + "'r'"))) {
        all[table] =
            column(conn.exec("SELECT to_jsonb(t)::text FROM old." + table + " AS t ORDER BY 1"));
    }
    for (const auto& sequence : column(conn.exec(names + "'S'"))) {
        all[sequence] =
            column(conn.exec("SELECT last_value || ' ' || is_called FROM old." + sequence));
    }
    return all;
}

}  // namespace belay::test
