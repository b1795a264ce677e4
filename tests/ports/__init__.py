"""What a port promises, shown on its in-memory twin and on the real adapter over the wire: one suite for both."""
