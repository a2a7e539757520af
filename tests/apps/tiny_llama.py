"""Writes tiny models with random weights as GGUF files: `tiny_llama.py FOLDER`. Runs in the image `llama`.

A llama of two layers, 4 heads of 64 (2 for keys and values), 512 tokens: 3 special ones, 256 bytes, 253 words. Weights
have the variance that keeps activations near 1. The rows of the output matrix for bytes are zero, so that what is
generated is words; the row of a word leans towards one other word, so that rounding does not change what comes next.
Beside each model `KIND.gguf` lies `KIND-exact.gguf`, the same weights as 32-bit floats.
"""

from __future__ import annotations

import sys
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import TokenType

TYPES = {name: Type[name] for name in ("F16", "Q8_0", "Q4_0", "Q4_K", "MXFP4")}
LAYERS, EMBEDDING, FEED_FORWARD, HEADS, KV_HEADS, HEAD = 2, 256, 512, 4, 2, 64
SPECIAL, BYTES, TOKENS = 3, 256, 512
SEED = 9
LEANING = 0.7


def vocabulary(writer: gguf.GGUFWriter) -> None:
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(BYTES))]
    tokens += [f"\u2581w{i}" for i in range(TOKENS - len(tokens))]
    types = [TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL, *[TokenType.BYTE] * BYTES]
    types += [TokenType.NORMAL] * (TOKENS - len(types))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * SPECIAL + [-1000.0] * BYTES + [-1.0] * (TOKENS - SPECIAL - BYTES))
    writer.add_token_types(types)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)


def q4_k(values: np.ndarray) -> np.ndarray:
    """Blocks of 256 (gguf only reads this type): weights d * s * (q - 7.5), with s of 6 bits for each 32 of them."""
    groups = values.reshape(-1, 8, 32)
    largest = np.abs(groups).max(axis=2)
    d = (largest.max(axis=1, keepdims=True) / (7.5 * 63)).astype(np.float16)
    s = np.ceil(largest / (7.5 * np.maximum(d.astype(np.float32), 1e-9))).clip(1, 63).astype(np.uint8)
    step = np.maximum(d.astype(np.float32) * s, 1e-9)[:, :, None]
    q = np.round(groups / step + 7.5).clip(0, 15).astype(np.uint8)
    # Eight scales and eight minima (here the same): the first four as 6 bits, the rest in pieces.
    low, high = s[:, :4], s[:, 4:]
    six = low | (high >> 4) << 6
    packed = np.concatenate([six, six, (high & 15) | (high & 15) << 4], axis=1)
    nibbles = (q[:, 0::2] | q[:, 1::2] << 4).reshape(-1, 128)
    ends = [d.view(np.uint8), (d * np.float16(7.5)).view(np.uint8)]
    return np.concatenate([*ends, packed, nibbles], axis=1).reshape(values.shape[0], -1)


def write(path: Path, kind: Type, exact: bool) -> None:
    rng = np.random.default_rng(SEED)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(256)
    writer.add_embedding_length(EMBEDDING)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_dimension_count(HEAD)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(TOKENS)
    vocabulary(writer)

    def add(name: str, values: np.ndarray) -> None:
        data = q4_k(values) if kind == Type.Q4_K else gguf.quants.quantize(values, kind)
        if exact:
            writer.add_tensor(f"{name}.weight", gguf.quants.dequantize(data, kind).astype(np.float32))
        else:
            writer.add_tensor(f"{name}.weight", data, raw_dtype=kind)

    def matrix(name: str, rows: int, columns: int, gain: float = 1.0) -> None:
        add(name, rng.normal(0, gain / columns**0.5, (rows, columns)).astype(np.float32))

    def vector(name: str) -> None:
        writer.add_tensor(f"{name}.weight", rng.uniform(0.5, 1.5, EMBEDDING).astype(np.float32))

    embedding = rng.normal(0, 1, (TOKENS, EMBEDDING)).astype(np.float16)
    writer.add_tensor("token_embd.weight", embedding)
    for layer in range(LAYERS):
        at = f"blk.{layer}."
        vector(at + "attn_norm")
        matrix(at + "attn_q", HEADS * HEAD, EMBEDDING)
        matrix(at + "attn_k", KV_HEADS * HEAD, EMBEDDING)
        matrix(at + "attn_v", KV_HEADS * HEAD, EMBEDDING)
        matrix(at + "attn_output", EMBEDDING, HEADS * HEAD)
        vector(at + "ffn_norm")
        matrix(at + "ffn_gate", FEED_FORWARD, EMBEDDING)
        matrix(at + "ffn_up", FEED_FORWARD, EMBEDDING)
        matrix(at + "ffn_down", EMBEDDING, FEED_FORWARD)
    vector("output_norm")
    output = np.zeros((TOKENS, EMBEDDING))
    words = output[SPECIAL + BYTES :]
    words += rng.normal(0, 1, words.shape) + LEANING * np.roll(embedding[SPECIAL + BYTES :], 100, axis=0)
    add("output", (output * 4 / EMBEDDING**0.5).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    for name, kind in TYPES.items():
        write(Path(sys.argv[1]) / f"{name}.gguf", kind, exact=False)
        write(Path(sys.argv[1]) / f"{name}-exact.gguf", kind, exact=True)
