-- The first schema: one row per workspace, three writers, one sequence, one outbox.
-- It runs with search_path set to wsctl, in one transaction, as the owner of everything it makes.

-- ------------------------------------------------------------------------------ the three writers

-- Roles belong to the whole server, so another database of it may have made them already. Since
-- PostgreSQL 16 who makes a role may grant it, but not yet act as it.
DO $$
DECLARE
    name text;
    right_to_act text := CASE
        WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER'
    END;
BEGIN
    FOREACH name IN ARRAY ARRAY['wsctl_service', 'wsctl_monitor', 'wsctl_reconciler'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', name);
        END IF;
        IF NOT pg_has_role(current_user, name, right_to_act) THEN
            EXECUTE format('GRANT %I TO %I', name, current_user);
        END IF;
    END LOOP;
END
$$;

-- ---------------------------------------------------------------------------------- the sequence

-- H19: freshness is no clock. Whoever looks or acts takes a number here.
CREATE SEQUENCE freshness AS bigint;

-- The number of the monitor's last complete pass: it stands for every row that the pass saw unchanged.
CREATE TABLE monitor_pass (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    number bigint NOT NULL DEFAULT 0 CHECK (number >= 0)
);

-- There is one row from the beginning, so that a pass only ever updates.
INSERT INTO monitor_pass DEFAULT VALUES;

-- --------------------------------------------------------------------------------- the workspaces

-- One row per workspace; who may write which column is granted below (contract 3).
CREATE TABLE workspaces (
    -- The service's.
    id text COLLATE "C" PRIMARY KEY
        CONSTRAINT id_is_an_identity CHECK (id ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$'),
    owner_id text COLLATE "C" NOT NULL
        CONSTRAINT owner_id_is_text CHECK (btrim(owner_id, E' \t\n\r\f\v') <> ''),
    name text NOT NULL CONSTRAINT name_is_text CHECK (btrim(name, E' \t\n\r\f\v') <> ''),
    image text NOT NULL CONSTRAINT image_is_text CHECK (btrim(image, E' \t\n\r\f\v') <> ''),
    created_at timestamptz NOT NULL DEFAULT now(),
    created_seq bigint NOT NULL DEFAULT nextval('freshness')
        CONSTRAINT created_seq_is_whole CHECK (created_seq >= 0),
    desired_state text NOT NULL DEFAULT 'RUNNING'
        CONSTRAINT desired_state_is_known CHECK (desired_state IN ('PENDING', 'STANDBY', 'RUNNING')),
    deleted_at timestamptz,
    intent_version bigint NOT NULL DEFAULT 0
        CONSTRAINT intent_version_is_whole CHECK (intent_version >= 0),
    intent_changed_at timestamptz NOT NULL DEFAULT now(),
    loss_accepted text
        CONSTRAINT loss_accepted_is_text CHECK (btrim(loss_accepted, E' \t\n\r\f\v') <> ''),
    standby_ttl_seconds bigint NOT NULL DEFAULT 300
        CONSTRAINT standby_ttl_is_positive CHECK (standby_ttl_seconds >= 1),
    archive_ttl_seconds bigint NOT NULL DEFAULT 604800
        CONSTRAINT archive_ttl_is_positive CHECK (archive_ttl_seconds >= 1),

    -- The health monitor's.
    observed_status text NOT NULL DEFAULT 'PENDING'
        CONSTRAINT observed_status_is_known
        CHECK (observed_status IN ('PENDING', 'STANDBY', 'RUNNING', 'DELETED')),
    health_status text NOT NULL DEFAULT 'OK'
        CONSTRAINT health_status_is_known CHECK (health_status IN ('OK', 'ERROR')),
    observed_at timestamptz,
    observed_seq bigint NOT NULL DEFAULT 0
        CONSTRAINT observed_seq_is_whole CHECK (observed_seq >= 0),
    suspect jsonb
        CONSTRAINT suspect_is_one CHECK (
            suspect IS NULL OR (
                suspect ?& ARRAY['what', 'identity', 'seq']
                AND suspect - ARRAY['what', 'identity', 'seq'] = '{}'
                AND suspect ->> 'what'
                    IN ('HOME_MISSING', 'CONTAINER_WITHOUT_VOLUME', 'IN_PROGRESS')
                AND suspect ->> 'identity' ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$'
                AND jsonb_typeof(suspect -> 'seq') = 'number'
            ) IS TRUE
        ),
    last_exit jsonb
        CONSTRAINT last_exit_is_one CHECK (
            last_exit IS NULL OR (
                last_exit ?& ARRAY['exit_code', 'out_of_memory', 'at']
                AND last_exit - ARRAY['exit_code', 'out_of_memory', 'at'] = '{}'
                AND jsonb_typeof(last_exit -> 'exit_code') = 'number'
                AND jsonb_typeof(last_exit -> 'out_of_memory') = 'boolean'
                AND jsonb_typeof(last_exit -> 'at') = 'string'
            ) IS TRUE
        ),

    -- The state reconciler's.
    operation text NOT NULL DEFAULT 'NONE'
        CONSTRAINT operation_is_known CHECK (operation IN (
            'NONE', 'PROVISIONING', 'RESTORING', 'STARTING', 'STOPPING', 'ARCHIVING', 'DELETING'
        )),
    op_id text COLLATE "C"
        CONSTRAINT op_id_is_an_identity CHECK (op_id ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$'),
    op_started_at timestamptz,
    op_acted_seq bigint CONSTRAINT op_acted_seq_is_whole CHECK (op_acted_seq >= 0),
    op_ended_seq bigint NOT NULL DEFAULT 0
        CONSTRAINT op_ended_seq_is_whole CHECK (op_ended_seq >= 0),
    archive_key text CONSTRAINT archive_key_is_text CHECK (btrim(archive_key, E' \t\n\r\f\v') <> ''),
    archive_sha256 text
        CONSTRAINT archive_sha256_is_one CHECK (archive_sha256 ~ '^[0-9a-f]{64}$'),
    archive_size bigint CONSTRAINT archive_size_is_whole CHECK (archive_size >= 0),
    home_ctx jsonb NOT NULL
        DEFAULT '{"state": "NONE", "incarnation": null, "restore_marker": null, "dirty": false}'
        CONSTRAINT home_is_one CHECK ((
            home_ctx ?& ARRAY['state', 'incarnation', 'restore_marker', 'dirty']
            AND home_ctx - ARRAY['state', 'incarnation', 'restore_marker', 'dirty'] = '{}'
            AND home_ctx ->> 'state' IN ('NONE', 'MAKING', 'READY', 'CONDEMNED')
            AND jsonb_typeof(home_ctx -> 'dirty') = 'boolean'
            AND coalesce(
                home_ctx ->> 'incarnation' ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$', true
            )
        ) IS TRUE)
        -- A home in state NONE has no incarnation, and every other has one.
        CONSTRAINT home_has_an_incarnation CHECK (
            (home_ctx ->> 'state' = 'NONE') = (home_ctx ->> 'incarnation' IS NULL)
        )
        -- A home in state NONE was restored from nothing.
        CONSTRAINT home_marker_has_a_home CHECK (
            home_ctx ->> 'state' <> 'NONE' OR home_ctx ->> 'restore_marker' IS NULL
        )
        -- Only a READY home can be dirty: nothing else was ever run on.
        CONSTRAINT home_is_dirty_when_ready CHECK (
            home_ctx ->> 'state' = 'READY' OR NOT home_ctx @> '{"dirty": true}'
        ),
    error_count bigint NOT NULL DEFAULT 0
        CONSTRAINT error_count_is_whole CHECK (error_count >= 0),
    error_info jsonb
        CONSTRAINT error_info_is_one CHECK (
            error_info IS NULL OR (
                error_info ?& ARRAY[
                    'reason', 'message', 'is_terminal', 'operation', 'error_count', 'context',
                    'occurred_at'
                ]
                AND error_info ->> 'reason' IN (
                    'Mismatch', 'Unreachable', 'ActionFailed', 'Timeout', 'DataLost',
                    'RetryExceeded'
                )
                AND jsonb_typeof(error_info -> 'message') = 'string'
                AND jsonb_typeof(error_info -> 'is_terminal') = 'boolean'
                AND error_info ->> 'operation' IN (
                    'NONE', 'PROVISIONING', 'RESTORING', 'STARTING', 'STOPPING', 'ARCHIVING',
                    'DELETING'
                )
                AND jsonb_typeof(error_info -> 'error_count') = 'number'
                AND jsonb_typeof(error_info -> 'context') = 'object'
                AND jsonb_typeof(error_info -> 'occurred_at') = 'string'
            ) IS TRUE
        ),
    next_attempt_at timestamptz,
    restart_count bigint NOT NULL DEFAULT 0
        CONSTRAINT restart_count_is_whole CHECK (restart_count >= 0),
    started_at timestamptz,
    previous_status text
        CONSTRAINT previous_status_is_known
        CHECK (previous_status IN ('PENDING', 'STANDBY', 'RUNNING', 'DELETED')),
    last_access_at timestamptz NOT NULL DEFAULT now(),

    -- The trigger's.
    updated_at timestamptz NOT NULL,
    changed_xid xid8 NOT NULL,

    -- What the core decides about the row alone, kept so that it can be indexed: `needs_work`, ...
    needs_work boolean NOT NULL GENERATED ALWAYS AS (
        CASE
            WHEN operation <> 'NONE' THEN true
            WHEN deleted_at IS NOT NULL THEN observed_status <> 'DELETED' OR error_info IS NOT NULL
            WHEN error_info IS NOT NULL AND error_info @> '{"is_terminal": true}' THEN false
            WHEN health_status = 'ERROR' OR observed_status <> desired_state THEN true
            -- The loss of the home was accepted: it counts as none (H25).
            WHEN loss_accepted IS NOT NULL AND home_ctx ->> 'incarnation' IS NOT NULL
                AND loss_accepted = home_ctx ->> 'incarnation' THEN observed_status <> 'PENDING'
            WHEN home_ctx ->> 'state' IN ('NONE', 'MAKING') THEN observed_status <> 'PENDING'
            WHEN home_ctx ->> 'state' = 'CONDEMNED' THEN true
            ELSE observed_status = 'PENDING' AND home_ctx @> '{"dirty": true}'
        END
    ) STORED,
    -- ... `finished_deleting`, ...
    finished boolean NOT NULL GENERATED ALWAYS AS (
        observed_status = 'DELETED' AND operation = 'NONE' AND error_info IS NULL
    ) STORED,
    -- ... and `holds_place`, as far as it can be told without the number of the last pass.
    may_hold_place boolean NOT NULL GENERATED ALWAYS AS (
        operation IN ('STARTING', 'STOPPING')
        OR observed_status = 'RUNNING'
        OR (
            op_ended_seq > 0 AND observed_seq <= op_ended_seq
            AND NOT (observed_status = 'DELETED' AND operation = 'NONE' AND error_info IS NULL)
        )
    ) STORED,

    -- Contract 4: an operation that runs has an identity and a beginning.
    CONSTRAINT operation_has_an_identity CHECK (operation = 'NONE' OR op_id IS NOT NULL),
    CONSTRAINT operation_has_a_beginning CHECK (operation = 'NONE' OR op_started_at IS NOT NULL),
    CONSTRAINT only_an_operation_acts CHECK (operation <> 'NONE' OR op_acted_seq IS NULL),
    CONSTRAINT archive_is_whole CHECK (
        (archive_key IS NULL) = (archive_sha256 IS NULL)
        AND (archive_key IS NULL) = (archive_size IS NULL)
    ),
    CONSTRAINT deletion_was_asked_for CHECK (observed_status <> 'DELETED' OR deleted_at IS NOT NULL)
);

-- Rows for which a step may be due: few, whatever the size of the fleet.
CREATE INDEX workspaces_needing_work ON workspaces (id) WHERE needs_work;

-- Rows that may hold a place, with everything that is asked of them.
CREATE INDEX workspaces_holding_places ON workspaces (owner_id)
    INCLUDE (operation, observed_status, op_ended_seq, created_seq) WHERE may_hold_place;

-- Intents to run, as the service counts them.
CREATE INDEX workspaces_wanting_places ON workspaces (owner_id)
    WHERE desired_state = 'RUNNING' AND deleted_at IS NULL;

-- Rows that are finished being deleted, and wait to be purged.
CREATE INDEX workspaces_finished ON workspaces (id) WHERE finished;

-- Rows in the order in which their writers began.
CREATE INDEX workspaces_changed ON workspaces (changed_xid);

-- The listing of one owner.
CREATE INDEX workspaces_of_owner ON workspaces (owner_id, id);

-- Every write stamps its row: when, and by which transaction.
CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.updated_at := pg_catalog.clock_timestamp();
    NEW.changed_xid := pg_catalog.pg_current_xact_id();
    RETURN NEW;
END
$$;

CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON workspaces
    FOR EACH ROW EXECUTE FUNCTION stamp();

-- ------------------------------------------------------------------------------------- the outbox

-- One row per event, kept a day. Its number is given before its transaction commits (H35).
CREATE TABLE outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind text NOT NULL CHECK (kind IN ('state_changed', 'error')),
    workspace_id text NOT NULL,
    owner_id text NOT NULL,
    row_after jsonb NOT NULL
);

-- Events in the order in which their transactions began.
CREATE INDEX outbox_xid ON outbox (xid);

-- Events by age, to be trimmed.
CREATE INDEX outbox_at ON outbox (at);

-- Writes the event that `event_of` names, in the transaction of the change itself, and wakes readers.
CREATE FUNCTION tell() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = wsctl, pg_temp AS $$
BEGIN
    INSERT INTO outbox (kind, workspace_id, owner_id, row_after) VALUES (
        CASE
            WHEN NEW.error_info IS NULL THEN 'state_changed'
            WHEN TG_OP = 'INSERT' THEN 'error'
            WHEN NEW.error_info IS DISTINCT FROM OLD.error_info THEN 'error'
            ELSE 'state_changed'
        END,
        NEW.id,
        NEW.owner_id,
        to_jsonb(NEW) - ARRAY[
            'updated_at', 'changed_xid', 'needs_work', 'finished', 'may_hold_place'
        ]
    );
    PERFORM pg_notify('workspace_changes', NEW.id);
    RETURN NULL;
END
$$;

-- A new row is worth telling.
CREATE TRIGGER tell_created AFTER INSERT ON workspaces
    FOR EACH ROW EXECUTE FUNCTION tell();

-- A change is, when it is of the operation, observed, health, intent, name, or of an error that is there.
CREATE TRIGGER tell_changed AFTER UPDATE ON workspaces
    FOR EACH ROW WHEN (
        OLD.operation <> NEW.operation
        OR (NEW.operation <> 'NONE' AND OLD.op_id IS DISTINCT FROM NEW.op_id)
        OR OLD.observed_status <> NEW.observed_status
        OR OLD.health_status <> NEW.health_status
        OR OLD.desired_state <> NEW.desired_state
        OR OLD.deleted_at IS DISTINCT FROM NEW.deleted_at
        OR OLD.intent_version <> NEW.intent_version
        OR OLD.name <> NEW.name
        OR (NEW.error_info IS NOT NULL AND OLD.error_info IS DISTINCT FROM NEW.error_info)
    ) EXECUTE FUNCTION tell();

-- ------------------------------------------------------------------- leadership and housekeeping

-- Who leads, and for the how-manieth time somebody does.
CREATE TABLE system_locks (
    lock_name text PRIMARY KEY,
    holder_id text,
    acquired_at timestamptz,
    epoch bigint NOT NULL DEFAULT 0 CHECK (epoch >= 0)
);

-- There is one lock, and nobody has held it yet.
INSERT INTO system_locks (lock_name) VALUES ('coordinator');

-- The identity of this installation: everything that it makes outside carries it (H33).
CREATE TABLE installation (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    id text NOT NULL DEFAULT replace(gen_random_uuid()::text, '-', ''),
    created_at timestamptz NOT NULL DEFAULT now()
);

-- It is made once, with the database.
INSERT INTO installation DEFAULT VALUES;

-- What is refused until a person has looked.
CREATE TABLE latches (
    latch_name text PRIMARY KEY,
    why text NOT NULL,
    number bigint NOT NULL,
    latched_at timestamptz NOT NULL DEFAULT now()
);

-- H1: a leader's write calls this first, in its own transaction. The lock on the row is what makes
-- a new leader wait for the write, or the write for the new leader.
CREATE FUNCTION fence(of_epoch bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = wsctl, pg_temp AS $$
DECLARE
    now_is bigint;
BEGIN
    SELECT epoch INTO now_is FROM system_locks WHERE lock_name = 'coordinator' FOR SHARE;
    IF now_is IS DISTINCT FROM of_epoch THEN
        RAISE EXCEPTION 'the epoch is %, and the write was of %', now_is, of_epoch
            USING ERRCODE = 'WS001';
    END IF;
END
$$;

-- The epoch grows in the transaction that records the holder. Called when the lock is held (H1).
CREATE FUNCTION take_office(holder text) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = wsctl, pg_temp AS $$
    UPDATE system_locks
    SET epoch = epoch + 1, holder_id = holder, acquired_at = clock_timestamp()
    WHERE lock_name = 'coordinator'
    RETURNING epoch
$$;

-- The monitor's exception: an alarm is set where no error is recorded, and where the row's number is
-- smaller than the pass's; the rows that were changed are told.
CREATE FUNCTION alarm(of_pass bigint, ids text[], infos text[]) RETURNS SETOF text
LANGUAGE sql SECURITY DEFINER SET search_path = wsctl, pg_temp AS $$
    UPDATE workspaces w
    SET error_info = a.info::jsonb
    FROM unnest(ids, infos) AS a (id, info)
    WHERE w.id = a.id AND w.error_info IS NULL AND w.observed_seq < of_pass
        AND NOT EXISTS (
            SELECT FROM monitor_pass p WHERE p.number >= of_pass AND p.number > w.created_seq
        )
    RETURNING w.id
$$;

-- The service's exception: an error is reset while no operation runs; whether it was is told.
CREATE FUNCTION recover(of_workspace text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = wsctl, pg_temp AS $$
BEGIN
    UPDATE workspaces
    SET error_info = NULL, error_count = 0, next_attempt_at = NULL, restart_count = 0
    WHERE id = of_workspace AND operation = 'NONE';
    RETURN FOUND;
END
$$;

-- Removes those of the rows that are finished being deleted, in an order that all removers share.
CREATE FUNCTION purge(of_epoch bigint, ids text[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = wsctl, pg_temp AS $$
DECLARE
    removed bigint;
BEGIN
    PERFORM fence(of_epoch);
    PERFORM FROM workspaces WHERE id = ANY (ids) AND finished ORDER BY id FOR UPDATE;
    DELETE FROM workspaces WHERE id = ANY (ids) AND finished;
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END
$$;

-- Removes events that are older than a day.
CREATE FUNCTION trim_events(of_epoch bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = wsctl, pg_temp AS $$
DECLARE
    removed bigint;
BEGIN
    PERFORM fence(of_epoch);
    DELETE FROM outbox WHERE at < clock_timestamp() - interval '1 day';
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END
$$;

-- H33: refuses collection, and moves the sequence past a number. Altering it keeps everyone else from
-- taking a number meanwhile: it never goes back.
CREATE FUNCTION latch(of_epoch bigint, because text, past bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = wsctl, pg_temp AS $$
BEGIN
    PERFORM fence(of_epoch);
    INSERT INTO latches (latch_name, why, number) VALUES ('collection', because, past)
        ON CONFLICT (latch_name) DO NOTHING;
    ALTER SEQUENCE freshness CACHE 1;
    PERFORM setval('freshness', past) FROM freshness WHERE last_value <= past;
END
$$;

-- A person has looked.
CREATE FUNCTION clear_latch() RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = wsctl, pg_temp AS $$
BEGIN
    DELETE FROM latches WHERE latch_name = 'collection';
    RETURN FOUND;
END
$$;

-- ------------------------------------------------------- contract 3: each writer its own columns

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA wsctl FROM PUBLIC;
GRANT USAGE ON SCHEMA wsctl TO wsctl_service, wsctl_monitor, wsctl_reconciler;
GRANT SELECT ON ALL TABLES IN SCHEMA wsctl TO wsctl_service, wsctl_monitor, wsctl_reconciler;
GRANT SELECT, USAGE ON SEQUENCE freshness TO wsctl_service, wsctl_monitor, wsctl_reconciler;

-- What a row is made of is never changed again; last_access_at and every other column begin at their
-- defaults.
GRANT INSERT (
    id, owner_id, name, image, created_at, created_seq, desired_state, deleted_at, intent_version,
    intent_changed_at, loss_accepted, standby_ttl_seconds, archive_ttl_seconds
) ON workspaces TO wsctl_service;
GRANT UPDATE (
    name, desired_state, deleted_at, intent_version, intent_changed_at, loss_accepted,
    standby_ttl_seconds, archive_ttl_seconds
) ON workspaces TO wsctl_service;
GRANT EXECUTE ON FUNCTION recover(text), clear_latch() TO wsctl_service;

GRANT UPDATE (observed_status, health_status, observed_at, observed_seq, suspect, last_exit)
    ON workspaces TO wsctl_monitor;
GRANT UPDATE (number) ON monitor_pass TO wsctl_monitor;
GRANT EXECUTE ON FUNCTION fence(bigint), alarm(bigint, text[], text[]) TO wsctl_monitor;

GRANT UPDATE (
    operation, op_id, op_started_at, op_acted_seq, op_ended_seq, archive_key, archive_sha256,
    archive_size, home_ctx, error_count, error_info, next_attempt_at, restart_count, started_at,
    previous_status, last_access_at
) ON workspaces TO wsctl_reconciler;
GRANT EXECUTE ON FUNCTION
    fence(bigint), take_office(text), purge(bigint, text[]), trim_events(bigint),
    latch(bigint, text, bigint)
    TO wsctl_reconciler;
