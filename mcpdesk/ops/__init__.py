"""What programs ask of a desk: is it alive, is it at work, how does it do."""
