"""The policy contract, and the policies that ship: one file each."""
