"""The reproducer: a directory for editing, with a Makefile that runs, recompiles and validates."""

from kerncap.reproducer.directory import write_reproducer

__all__ = ["write_reproducer"]
