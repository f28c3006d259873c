"""The structured interior-point solver: linear machines at the speed of the data."""
