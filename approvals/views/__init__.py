"""The pages of the inbox. Every form works as a plain post; htmx swaps the same partials in."""
