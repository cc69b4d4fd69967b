"""People in the console: who may do what, what is refused, who is shut out, and in which language they read."""
