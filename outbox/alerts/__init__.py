"""Alerts: messages to people about problems.

making      after each look for problems: what is new for each channel becomes a message
changes     what is new: a problem opened, grew tenfold, closed, or came and went
texts       the wording, in the channel's language and time zone
sending     what a worker does with alerts: claim, deliver, settle
delivery    by e-mail, or by apprise
addresses   which addresses a channel may have
"""
