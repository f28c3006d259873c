"""Model selection with proofs: leave-one-out and grid searches with exact machines."""

from qpsvm.selection.choice import Choice
from qpsvm.selection.left_out import LeaveOneOut, leave_one_out
from qpsvm.selection.search import SVCSearch, SVRSearch

__all__ = ["Choice", "LeaveOneOut", "SVCSearch", "SVRSearch", "leave_one_out"]
