"""Django's admin for support staff: it reads, and only what a team let support look at."""
