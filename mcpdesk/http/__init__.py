"""HTTP to addresses that people typed in: guarded on the socket, bounded, nothing remembered."""
