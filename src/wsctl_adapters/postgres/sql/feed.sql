-- The outbox, read so that an event which commits late is never skipped (H35).

-- listen: Wakes come on this channel, from the trigger that writes the outbox.
LISTEN workspace_changes;

-- now: From where a reader goes on who wants to know nothing of before.
SELECT
    pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
    coalesce((SELECT max(id) FROM outbox), 0),
    (
        SELECT range_agg(int8range(id, id, '[]')) FROM outbox
        WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())
    );

-- horizon: The oldest transaction that still runs, and which of the told events are not older than it.
SELECT
    pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
    (
        SELECT range_agg(int8range(id, id, '[]')) FROM outbox
        WHERE xid >= pg_snapshot_xmin(pg_current_snapshot()) AND id <@ %(told)s::int8multirange
    );

-- events: Those that were not told: younger than the last that was, or older and committed since.
WITH late AS MATERIALIZED (
    SELECT id FROM outbox WHERE xid >= %(xmin)s::text::xid8 AND id <= %(top)s
), untold AS (
    SELECT id FROM late WHERE NOT id <@ %(told)s::int8multirange
    UNION ALL
    SELECT id FROM (
        SELECT id FROM outbox WHERE id > %(top)s AND NOT id <@ %(told)s::int8multirange
        ORDER BY id LIMIT %(limit)s
    ) AS younger
)
SELECT o.id, o.xid::text::bigint, o.kind, o.workspace_id, o.owner_id, o.at, o.row_after
FROM outbox AS o
WHERE o.id IN (SELECT id FROM untold ORDER BY id LIMIT %(limit)s)
ORDER BY o.id;
