// The row of table worker_queue with an id, for statements that know nothing else of it.
//
// Touches  <hub>.worker_queue, through the statements that begin with it
#pragma once

// Begins a statement with `found`, which has no row or one and is read by BELAY_FROM_FOUND as w; $1
// is the id. No index has the id alone: each item would pay for it. It is probed for in each of the
// first streams, where no item was delayed; then the delayed ones of these are searched, by their
// entries in the key, then what lies in further streams. Append takes the parts one after the
// other, and LIMIT ends it.
#define BELAY_WORK_OF_ID                                                                          \
    "WITH RECURSIVE streams(lane, slot, nr) AS ("                                                 \
    "    (SELECT w.lane, w.slot, 1 FROM {hub}.worker_queue AS w ORDER BY w.lane, w.slot LIMIT 1)" \
    "    UNION ALL"                                                                               \
    "    SELECT n.lane, n.slot, s.nr {+} 1"                                                       \
    "      FROM streams AS s"                                                                     \
    "     CROSS JOIN LATERAL (SELECT w.lane, w.slot"                                              \
    "                           FROM {hub}.worker_queue AS w"                                     \
    "                          WHERE ROW(w.lane, w.slot) {>} ROW(s.lane, s.slot)"                 \
    "                          ORDER BY w.lane, w.slot"                                           \
    "                          LIMIT 1) AS n"                                                     \
    "     WHERE s.nr {<} 64"                                                                      \
    "), known AS MATERIALIZED ("                                                                  \
    "    SELECT s.lane, s.slot, s.nr FROM streams AS s"                                           \
    "), found AS MATERIALIZED ("                                                                  \
    "    (SELECT r.* FROM known AS k"                                                             \
    "      CROSS JOIN LATERAL (SELECT q.ctid, q.* FROM {hub}.worker_queue AS q"                   \
    "                           WHERE q.lane {=} k.lane AND q.slot {=} k.slot"                    \
    "                             AND q.due {=} 0 AND q.id {=} $1 LIMIT 1) AS r)"                 \
    "    UNION ALL"                                                                               \
    "    (SELECT r.* FROM known AS k"                                                             \
    "      CROSS JOIN LATERAL (SELECT q.ctid, q.* FROM {hub}.worker_queue AS q"                   \
    "                           WHERE q.lane {=} k.lane AND q.slot {=} k.slot"                    \
    "                             AND q.due {>} 0 AND q.id {=} $1 LIMIT 1) AS r)"                 \
    "    UNION ALL"                                                                               \
    "    (SELECT r.* FROM known AS k"                                                             \
    "      CROSS JOIN LATERAL (SELECT q.ctid, q.* FROM {hub}.worker_queue AS q"                   \
    "                           WHERE ROW(q.lane, q.slot) {>} ROW(k.lane, k.slot)"                \
    "                             AND q.id {=} $1 LIMIT 1) AS r"                                  \
    "      WHERE k.nr {=} 64)"                                                                    \
    "    LIMIT 1"                                                                                 \
    ") "
#define BELAY_FROM_FOUND " FROM found AS w"
