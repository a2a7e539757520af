"""Classifies a replay result: which runs judge a code object, and what their outcomes mean together."""
