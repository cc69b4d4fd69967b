"""What the simulators of Google's APIs share: the login, and the program behind `make up-google`."""
