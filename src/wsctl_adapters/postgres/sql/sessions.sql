-- Every session of a pool begins with these.

-- assume: The session acts as one role, on the one schema, and waits for nothing without an end.
SELECT
    set_config('search_path', 'wsctl, pg_temp', false),
    set_config('timezone', 'UTC', false),
    set_config('default_transaction_isolation', 'read committed', false),
    set_config('statement_timeout', '50s', false),
    set_config('lock_timeout', '5s', false),
    -- H1: one that sleeps in a transaction holds the leader's row, and with it the next leader.
    set_config('idle_in_transaction_session_timeout', '2s', false),
    set_config('role', %(role)s, false);

-- one_moment: What follows is read from one snapshot, and writes nothing.
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;

-- moment_over: Ends the snapshot.
COMMIT;
