"""Bad input, wherever something can be put in: documents, events, artifacts, requests, and bytes on every port."""
