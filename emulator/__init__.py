"""The outside world on a laptop, at the wire: it speaks the protocols and knows nothing of flowcore."""
