"""WHAT PEOPLE ARE TOLD. Status, events, explanations and ways out, made of verdicts alone.

Views know values and decisions. They never decide anything about a workspace.
"""
