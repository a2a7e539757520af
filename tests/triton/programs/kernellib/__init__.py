"""A library's package of helpers, as another project would install it."""
