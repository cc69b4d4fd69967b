"""Other job queues, each tuned as its documentation says, in processes of their own."""
