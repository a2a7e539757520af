"""The reproducer: a directory for editing, with a Makefile that runs, recompiles and validates."""

from kerncap.reproducer.directory import triton_script, write_reproducer

__all__ = ["triton_script", "write_reproducer"]
