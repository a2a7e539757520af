"""Asks a llama-server for a greedy completion and every token's probability: `llama_logits.py MODEL TOKENS [options]`.

Runs in the image `llama`; the options are llama-server's. Prints `{"tokens": [id], "logprobs": [[of each token]]}`.
The virtual GPU, if KERNCAP_LLAMA_PRELOAD names it, is preloaded into the server alone.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

VOCABULARY = 512
PROMPT = [1, *(260 + (37 * i) % 250 for i in range(31))]


def main() -> None:
    model, count, *options = sys.argv[1:]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    argv = ["llama-server", "--model", model, "--host", "127.0.0.1", "--port", port, *options]
    argv += ["--no-webui", "--offline"]
    argv += ["--ctx-size", "256", "--parallel", "1", "--no-warmup", "--fit", "off"]
    environment = {**os.environ, "LD_PRELOAD": os.environ.get("KERNCAP_LLAMA_PRELOAD", "")}
    server = subprocess.Popen(argv, env=environment, stdout=sys.stderr)
    try:
        wait_until_ready(server, f"http://127.0.0.1:{port}/health")
        asked = {"prompt": PROMPT, "n_predict": int(count), "temperature": 0, "n_probs": VOCABULARY, "ignore_eos": True}
        asked |= {"return_tokens": True, "cache_prompt": False, "seed": 1}
        request = urllib.request.Request(f"http://127.0.0.1:{port}/completion", json.dumps(asked).encode())
        with urllib.request.urlopen(request) as reply:
            answer = json.load(reply)
    finally:
        server.terminate()
        server.wait()
    steps = [{one["id"]: one["logprob"] for one in step["top_logprobs"]} for step in answer["completion_probabilities"]]
    print(json.dumps({"tokens": answer["tokens"], "logprobs": [[s[i] for i in range(VOCABULARY)] for s in steps]}))


def wait_until_ready(server: subprocess.Popen[bytes], url: str) -> None:
    while True:
        try:
            with urllib.request.urlopen(url):
                return
        except (urllib.error.URLError, ConnectionError):
            if server.poll() is not None:
                sys.exit(f"llama-server ended with {server.returncode}")
            time.sleep(0.1)


if __name__ == "__main__":
    main()
