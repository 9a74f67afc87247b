"""From runs to the numbers of tables and figures."""
