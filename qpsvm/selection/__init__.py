"""Model selection that can be proved."""

from qpsvm.selection.leave_one_out import LeaveOneOut, leave_one_out

__all__ = ["LeaveOneOut", "leave_one_out"]
