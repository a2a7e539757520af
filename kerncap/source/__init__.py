"""Source closure of a captured kernel: translation unit, headers, overlay, compile command; and compiling it again."""
