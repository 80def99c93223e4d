"""WHAT FOLLOWS. Every decision, as facts, a table and a verdict.

A decision reduces its inputs to finite facts, looks them up in a literal table whose rows are
the specification's rows in the specification's order, and returns a verdict: the outcome, the
reason code of the row that decided, and the rows looked at before it. Decisions know values and
one another. They never read a clock, a random number, the network or the world.
"""
