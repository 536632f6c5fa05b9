"""Tests: one file per module; the name is the condition, the docstring the rule."""
