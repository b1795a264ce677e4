"""Flowcore: a run is a Firestore document, a step is a Cloud Function, every transition is a patch you can read.

This file imports nothing, on purpose: a function pays for what it imports at every cold start.
"""
