-- For the tests only: an update of the extension that tries to upgrade hubs, which would make their objects its members.
SELECT belay.upgrade_hub(name) FROM belay.hubs;
