-- The schema's own state. These run before anything of wsctl's may be there, with full names.

-- exists: Whether wsctl was ever installed in this database.
SELECT to_regclass('wsctl.schema_version') IS NOT NULL;

-- version: The number of the last migration that was applied.
SELECT coalesce(max(version), 0) FROM wsctl.schema_version;

-- lock: Of two that migrate at once, one waits for the other.
SELECT pg_advisory_xact_lock(30579, 2);

-- prepare: Where wsctl lives, and which migrations it has seen.
CREATE SCHEMA IF NOT EXISTS wsctl;

-- prepare_versions: One row for each migration that was applied.
CREATE TABLE IF NOT EXISTS wsctl.schema_version (
    version integer PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now()
);

-- enter: What follows is made in wsctl's schema.
SET LOCAL search_path = wsctl, pg_temp;

-- applied: A migration was applied.
INSERT INTO wsctl.schema_version (version) VALUES (%(version)s);

-- server: The version of the server, as a number and for people.
SELECT current_setting('server_version_num')::integer, current_setting('server_version');

-- roles: Which of the roles are there, and who this user is, where it may not act as one.
SELECT
    name,
    oid IS NOT NULL,
    CASE
        WHEN oid IS NULL THEN NULL
        WHEN pg_has_role(
            current_user,
            oid,
            -- Since PostgreSQL 16 a member need not have the right to become what it is a member of.
            CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET'
            ELSE 'MEMBER' END
        ) THEN NULL
        ELSE current_user
    END
FROM unnest(%(roles)s::text[]) AS name LEFT JOIN pg_roles ON rolname = name
ORDER BY name;

-- objects: Which tables, sequences and functions are missing.
SELECT kind || ' ' || name
FROM (
    SELECT 'relation', name FROM unnest(%(relations)s::text[]) AS name
    WHERE to_regclass('wsctl.' || name) IS NULL
    UNION ALL
    SELECT 'function', name FROM unnest(%(functions)s::text[]) AS name
    WHERE to_regprocedure('wsctl.' || name) IS NULL
    UNION ALL
    SELECT 'trigger', name FROM unnest(%(triggers)s::text[]) AS name
    WHERE NOT EXISTS (
        SELECT FROM pg_trigger
        WHERE tgname = name AND tgrelid = to_regclass('wsctl.workspaces') AND tgenabled <> 'D'
    )
) AS missing (kind, name)
ORDER BY 1;

-- privileges: Which columns of a row each role may update.
SELECT name, attname, has_column_privilege(name, attrelid, attnum, 'UPDATE')
FROM pg_attribute, unnest(%(roles)s::text[]) AS name
WHERE attrelid = 'wsctl.workspaces'::regclass AND attnum > 0 AND NOT attisdropped;
