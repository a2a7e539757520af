"""A user's package of kernels: helpers in modules of their own, relative imports, constants."""
