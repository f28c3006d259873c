"""Starting points: cheap approximate solutions for the interior-point method and polish."""
