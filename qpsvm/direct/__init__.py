"""The short way: small machines solved on a kernel matrix or few weights, certified from arrays.

``qpsvm.solve`` takes it first. A machine that it does not certify goes the general way, through a
backend, the verifier and its remedies. What it certifies passes ``qpsvm.verify``, which computes
everything anew; where weights or samples range over many orders of magnitude, its multipliers may
be stated with fewer digits than ``verify`` asks for.
"""
