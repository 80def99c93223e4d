-- Reads. `moment` and the rows beside it are read from one snapshot.

-- moment: The time, the number of the last complete pass, and from where the next look at changes goes on.
SELECT
    clock_timestamp(),
    (SELECT number FROM monitor_pass),
    pg_snapshot_xmin(pg_current_snapshot())::text;

-- some: The rows of those workspaces that exist.
SELECT {columns} FROM workspaces WHERE id = ANY (%(ids)s);

-- all: Every row that is not finished being deleted.
SELECT {columns} FROM workspaces WHERE NOT finished;

-- changed: Every row whose last writer was still at work at the mark, or began after it.
SELECT {columns} FROM workspaces WHERE changed_xid >= %(mark)s::xid8;

-- needing_work: Every row for which a step may be due.
SELECT {columns} FROM workspaces WHERE needs_work;

-- held: The places held by each owner, as `holds_place` counts them (H32).
SELECT w.owner_id, count(*)
FROM workspaces AS w, monitor_pass AS p
WHERE w.may_hold_place AND (
    w.operation IN ('STARTING', 'STOPPING')
    OR w.observed_status = 'RUNNING'
    -- Nobody has looked since the last operation ended: no pass has, that could stand for the row.
    OR w.op_ended_seq >= p.number
    OR w.created_seq >= p.number
)
GROUP BY w.owner_id;

-- finished: Rows whose deletion is finished, in the order of their identities.
SELECT {columns} FROM workspaces
WHERE finished AND id > %(after)s
ORDER BY id LIMIT %(limit)s;

-- page: Rows of anyone, in the order of their identities.
SELECT {columns} FROM workspaces
WHERE id > %(after)s AND (%(deleted)s OR NOT finished)
ORDER BY id LIMIT %(limit)s;

-- page_of_owner: Rows of one owner, in the order of their identities.
SELECT {columns} FROM workspaces
WHERE owner_id = %(owner_id)s AND id > %(after)s AND (%(deleted)s OR NOT finished)
ORDER BY id LIMIT %(limit)s;
