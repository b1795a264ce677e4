"""A Firestore on a laptop that keeps Firestore's promises: preconditions hold, update times only grow.

It speaks google.firestore.v1 over gRPC, so the unmodified client library finds it by FIRESTORE_EMULATOR_HOST. From the
inside out: `values`, `paths` (what a document is made of) · `writes`, `queries` (pure: document in, document out) ·
`store`, `changes`, `journal`, `transactions` (what is kept, in which order, and who may touch it) · `listen`,
`service`, `server` (the wire) · `front`, `relay` (one port for gRPC and HTTP).
"""
