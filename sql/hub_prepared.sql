-- Hubs and prepared transactions. (hub_prepared_1.out is for a server without them.)
\set VERBOSITY terse
\set SHOW_CONTEXT never

-- A hub made in a prepared transaction is there when that commits; until then its name is taken.
BEGIN;
SELECT belay.create_hub('hp_app');
SELECT hp_app.pause_hub('worker');
PREPARE TRANSACTION 'regress_belay_hp';
SELECT count(*) FROM belay.hubs WHERE name = 'hp_app';
SET lock_timeout = '50ms';
SELECT test.sqlstate($$SELECT belay.create_hub('hp_app')$$);
RESET lock_timeout;
COMMIT PREPARED 'regress_belay_hp';
SELECT paused_queues FROM belay.hubs WHERE name = 'hp_app';

-- An option set in one.
BEGIN;
SELECT belay.set_hub_option('hp_app', 'slot_count', '3');
SELECT hp_app.resume_hub();
PREPARE TRANSACTION 'regress_belay_hp';
SELECT test.option('hp_app', 'slot_count'), paused_queues FROM belay.hubs WHERE name = 'hp_app';
ROLLBACK PREPARED 'regress_belay_hp';
SELECT test.option('hp_app', 'slot_count'), paused_queues FROM belay.hubs WHERE name = 'hp_app';
BEGIN;
SELECT belay.set_hub_option('hp_app', 'slot_count', '4');
SELECT hp_app.resume_hub();
PREPARE TRANSACTION 'regress_belay_hp';
COMMIT PREPARED 'regress_belay_hp';
SELECT test.option('hp_app', 'slot_count'), paused_queues FROM belay.hubs WHERE name = 'hp_app';

-- A hub removed in one.
BEGIN;
SELECT belay.drop_hub('hp_app');
PREPARE TRANSACTION 'regress_belay_hp';
COMMIT PREPARED 'regress_belay_hp';
SELECT count(*) FROM belay.hubs WHERE name = 'hp_app';
