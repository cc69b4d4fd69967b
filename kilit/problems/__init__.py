"""Problems that someone should look at, and the record of each from when it opens until it closes."""
