"""How the tests read the house itself: its sources, its documents, and what the documents claim."""
