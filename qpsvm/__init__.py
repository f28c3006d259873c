"""Support vector machines as quadratic programs, solved by any solver and verified."""
