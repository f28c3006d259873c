"""The structured interior-point engine: linear machines at the speed of the data."""
