"""The command line, as people meet it: a program in a folder."""
