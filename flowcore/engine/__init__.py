"""The imperative shell: it asks the domain what to do, and does it through the ports. Free of SDKs."""
