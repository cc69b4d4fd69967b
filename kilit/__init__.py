"""What all queues share: the lock at the bottom, the console at the top."""
