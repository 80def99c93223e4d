-- The service's statements: what people want.

-- lock_places: H32: whoever may take a place takes this first, and counts in a later statement, whose
-- snapshot is younger than the wait. Claims of STARTING take the same.
SELECT pg_advisory_xact_lock(30579, 1);

-- usage: The intents to run of others than one workspace: of one owner, and of everyone.
SELECT count(*) FILTER (WHERE owner_id = %(owner_id)s), count(*)
FROM workspaces
WHERE desired_state = 'RUNNING' AND deleted_at IS NULL AND id <> %(id)s;

-- insert: A new row; its times and its number are the database's.
INSERT INTO workspaces (
    id, owner_id, name, image, desired_state, standby_ttl_seconds, archive_ttl_seconds
) VALUES (
    %(id)s, %(owner_id)s, %(name)s, %(image)s, %(desired_state)s, %(standby_ttl_seconds)s,
    %(archive_ttl_seconds)s
) RETURNING {columns};

-- lock: The row, and nobody else changes it until this transaction ends.
SELECT clock_timestamp(), {columns} FROM workspaces WHERE id = %(id)s FOR UPDATE;

-- update: What was decided is written to the columns that it names.
UPDATE workspaces SET {changes} WHERE id = %(id)s RETURNING {columns};

-- recover: The error is reset, unless an operation runs: the service's exception.
SELECT recover(%(id)s);
