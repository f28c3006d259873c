"""Model selection that can be proved."""

from qpsvm.selection.choice import Choice
from qpsvm.selection.leave_one_out import LeaveOneOut, leave_one_out
from qpsvm.selection.search import SVCSearch, SVRSearch

__all__ = ["Choice", "LeaveOneOut", "SVCSearch", "SVRSearch", "leave_one_out"]
