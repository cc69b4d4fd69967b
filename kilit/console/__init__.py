"""What the queues' pages share in the console: looks, long lists, actions that ask first."""
