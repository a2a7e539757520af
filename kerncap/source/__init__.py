"""Source closure of a captured kernel: translation unit, headers, VFS overlay, compile command; and compiling it again."""
