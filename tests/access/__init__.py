"""Who may see and do what, at every address there is: generated from the URL table."""
