-- What an installation is, and what keeps its tables small. What changes something is a function,
-- which checks the epoch itself.

-- installation: The identity that was made with the database.
SELECT id FROM installation;

-- safeguard: The largest number that the sequence has given, and why nothing may be collected.
SELECT
    CASE WHEN is_called THEN last_value ELSE 0 END,
    (SELECT why FROM latches WHERE latch_name = 'collection')
FROM freshness;

-- latch: Refuses every collection, and moves the sequence past a number (H33).
SELECT latch(%(epoch)s, %(why)s, %(number)s);

-- clear_latch: A person has looked.
SELECT clear_latch();

-- purge: Removes rows that are finished being deleted.
SELECT purge(%(epoch)s, %(ids)s::text[]);

-- trim_events: Removes events that are older than a day.
SELECT trim_events(%(epoch)s);
