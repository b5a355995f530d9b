"""How long things are kept: retention of payloads and of the log, legal holds, erasing people."""
