"""The protocols of policy servers, one file each: how RoboDx asks such a server, and how it is one."""
