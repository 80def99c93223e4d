"""WHAT IS. Every value that the rest of the core reads or returns.

Values are frozen, keyword-only and validated where they are made: a value that exists is a
value that makes sense. They know nothing but one another. They never decide anything.
"""
