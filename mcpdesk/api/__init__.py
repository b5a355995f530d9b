"""The REST API at /api/v1/: the verbs and lists of the pages, for programs with a token."""
