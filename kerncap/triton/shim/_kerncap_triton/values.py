"""Values of the application as JSON (docs/interfaces.md, Triton's records)."""


def encode(value):
    """Plain values as they are; others as an object that says what it was."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, (tuple, list)):
        return _several(value, encode)
    kind = type(value).__name__
    if kind == "constexpr":
        return {"constexpr": encode(value.value)}
    if kind == "dtype":
        return {"dtype": str(value)}
    if is_function(value):
        return {"function": [value.fn.__module__, value.fn.__qualname__]}
    if hasattr(value, "data_ptr"):  # whose text would be fetched from the device
        return {"other": "a tensor"}
    return {"other": repr(value)[:200]}


def _several(value, encode_one):
    """A list or a tuple; of a named one also the names."""
    items = [encode_one(item) for item in value]
    if not isinstance(value, tuple):
        return {"list": items}
    fields = getattr(type(value), "_fields", None)
    return {"tuple": items} if fields is None else {"tuple": items, "fields": list(fields)}


def is_function(value):
    """Of Triton, compiled when it is called: a kernel, a helper, a function of constants."""
    return any(base.__name__ in ("JITCallable", "JITFunction") for base in type(value).__mro__)


def encode_argument(value):
    """Of a launch: tensors and what tensor descriptors were made of, wherever they stand."""
    if isinstance(value, (tuple, list)):
        return _several(value, encode_argument)
    if hasattr(getattr(value, "base", None), "data_ptr") and hasattr(value, "block_shape"):
        return encode_descriptor(value)
    if not hasattr(value, "data_ptr"):
        return encode(value)
    return encode_tensor(value)


def encode_descriptor(value):
    """`triton.tools.tensor_descriptor.TensorDescriptor`; 3.4 has no padding, and only 3.8 has the last one."""
    return {
        "descriptor": {
            "base": encode_tensor(value.base),
            "shape": [int(n) for n in value.shape],
            "strides": [int(n) for n in value.strides],
            "block_shape": [int(n) for n in value.block_shape],
            "padding": str(getattr(value, "padding", "zero")),
            "round_f32_to_tf32": bool(getattr(value, "round_f32_to_tf32", False)),
        }
    }


def encode_tensor(value):
    stride = value.stride() if callable(getattr(value, "stride", None)) else ()
    offset = value.storage_offset() if callable(getattr(value, "storage_offset", None)) else 0
    return {
        "tensor": {
            "va": int(value.data_ptr()),
            "dtype": str(value.dtype),
            "shape": [int(n) for n in getattr(value, "shape", ())],
            "strides": [int(n) for n in stride],
            "offset": int(offset),
        }
    }
