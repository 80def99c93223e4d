-- One lock, held by a session: whoever leads keeps the session alive by beating.

-- prepare: The session is unseated when it does not beat for three beats; and it waits for the lock no
-- longer than one interval, because a wait holds back vacuum (H36). A client that died in the middle of a
-- wait is noticed.
SELECT
    set_config('search_path', 'wsctl, pg_temp', false),
    set_config('timezone', 'UTC', false),
    set_config('role', 'wsctl_reconciler', false),
    set_config('default_transaction_isolation', 'read committed', false),
    set_config('statement_timeout', '0', false),
    set_config('idle_session_timeout', %(idle_ms)s, false),
    set_config('idle_in_transaction_session_timeout', '2s', false),
    set_config('client_connection_check_interval', '100ms', false),
    set_config('lock_timeout', %(wait_ms)s, false);

-- wait: The lock, when it is free, or an error when it is not within the interval.
SELECT pg_advisory_lock(%(lock_id)s);

-- in_charge: The lock is held, so whoever else holds the leader's row is no leader any more: it is waited
-- for only so long. Cutting off a session takes the rights of the login, not those of a role.
SELECT set_config('role', 'none', false), set_config('lock_timeout', %(wait_ms)s, false);

-- cut_off: Ends the sessions that hold the leader's row. A process that was stopped in the middle of what
-- it was sending holds it for ever: for the server it is not idle, it is still speaking.
SELECT pg_terminate_backend(pid) FROM pg_locks
WHERE relation = 'system_locks'::regclass AND mode = 'RowShareLock' AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND pid <> pg_backend_pid();

-- take_office: The epoch grows, and the holder is recorded, when the lock is held (H1).
SELECT take_office(%(node_id)s);

-- beat: This very session holds the lock, and no later leader has taken office.
SELECT EXISTS (
    SELECT FROM pg_locks
    WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted AND objsubid = 1
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND (classid::bigint << 32) | objid::bigint = %(lock_id)s::bigint
) AND EXISTS (
    SELECT FROM system_locks WHERE lock_name = 'coordinator' AND epoch = %(epoch)s
);

-- holder: The name of the node that led last.
SELECT holder_id FROM system_locks WHERE lock_name = 'coordinator';
