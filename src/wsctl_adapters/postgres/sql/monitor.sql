-- The health monitor's statements: what exists. A pass is written by four of them, whatever its size.

-- begin_pass: The number of a pass, taken before anything is listed (H19), and the time.
SELECT nextval('freshness'), clock_timestamp();

-- fence: H1: nothing of this transaction stands unless the epoch is the current one.
SELECT fence(%(epoch)s);

-- alarm: Alarms are set where no error is recorded: the monitor's exception.
SELECT alarm(%(number)s, %(ids)s::text[], %(infos)s::text[]);

-- observe: What was found is written where the row's number is smaller than the pass's (H19); a row that
-- the last complete pass saw unchanged is as fresh as that pass.
UPDATE workspaces AS w
SET
    observed_status = f.observed_status,
    health_status = f.health_status,
    observed_at = f.observed_at,
    observed_seq = f.observed_seq,
    suspect = f.suspect::jsonb,
    last_exit = f.last_exit::jsonb
FROM unnest(
    %(ids)s::text[], %(observed_status)s::text[], %(health_status)s::text[],
    %(observed_at)s::timestamptz[], %(observed_seq)s::bigint[], %(suspect)s::text[],
    %(last_exit)s::text[]
) AS f (id, observed_status, health_status, observed_at, observed_seq, suspect, last_exit)
WHERE w.id = f.id AND w.observed_seq < f.observed_seq
    AND NOT EXISTS (
        SELECT FROM monitor_pass p WHERE p.number >= f.observed_seq AND p.number > w.created_seq
    )
RETURNING w.id;

-- pass_complete: The pass's number stands for every row that it saw unchanged; it never goes back.
UPDATE monitor_pass SET number = greatest(number, %(number)s::bigint);
