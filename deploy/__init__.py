"""From an empty project to a running system: `python -m deploy`, or `deploy/deploy.sh`.

`plan` decides what a deployment consists of, and touches nothing; `carrying_out` looks, and does what is not there yet.
"""
