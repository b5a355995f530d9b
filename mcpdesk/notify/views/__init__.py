"""Pages: a team's channels, and one's own wishes and browsers."""
