"""Active-set methods for programs over a box: blocks of pairs, working sets, Newton steps."""
