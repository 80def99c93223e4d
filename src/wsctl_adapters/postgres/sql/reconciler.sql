-- The state reconciler's statements: what is being done. Each write is made behind the fence.

-- next_number: The next number of the sequence.
SELECT nextval('freshness');

-- fence: H1: nothing of this transaction stands unless the epoch is the current one.
SELECT fence(%(epoch)s);

-- holds_at_rest: Epoch and guard hold: the row is still the one that was planned on.
SELECT EXISTS (
    SELECT FROM workspaces, system_locks
    WHERE id = %(id)s AND operation = 'NONE' AND intent_version = %(guard_intent_version)s
        AND observed_seq = %(guard_observed_seq)s AND home_ctx = %(guard_home)s::jsonb
        AND lock_name = 'coordinator' AND epoch = %(epoch)s
);

-- holds_in_operation: Epoch and guard hold: the operation is still ours.
SELECT EXISTS (
    SELECT FROM workspaces, system_locks
    WHERE id = %(id)s AND operation = %(guard_operation)s AND op_id = %(guard_op_id)s
        AND lock_name = 'coordinator' AND epoch = %(epoch)s
);

-- write_at_rest: Compare and set, from rest: nothing that it was planned on has changed (contract 4).
UPDATE workspaces SET {changes}
WHERE id = %(id)s AND operation = 'NONE' AND intent_version = %(guard_intent_version)s
    AND observed_seq = %(guard_observed_seq)s AND home_ctx = %(guard_home)s::jsonb
RETURNING {columns};

-- write_in_operation: Compare and set, inside an operation: it is still the same one.
UPDATE workspaces SET {changes}
WHERE id = %(id)s AND operation = %(guard_operation)s AND op_id = %(guard_op_id)s
RETURNING {columns};

-- lock_places: H32: the lock under which intents are counted, too; what follows counts.
SELECT pg_advisory_xact_lock(30579, 1);

-- held_by_others: Places held by others than one workspace: of its owner, and of everyone.
SELECT
    count(*) FILTER (
        WHERE w.owner_id = (SELECT owner_id FROM workspaces WHERE id = %(id)s)
    ),
    count(*)
FROM workspaces AS w, monitor_pass AS p
WHERE w.may_hold_place AND w.id <> %(id)s AND (
    w.operation IN ('STARTING', 'STOPPING')
    OR w.observed_status = 'RUNNING'
    OR w.op_ended_seq >= p.number
    OR w.created_seq >= p.number
);
