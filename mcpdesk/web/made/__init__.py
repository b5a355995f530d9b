"""A made-up history of years: to see how the desk's pages bear it (`./desk make_history`)."""
