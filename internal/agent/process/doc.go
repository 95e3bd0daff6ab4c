// Package process is the agent's component for the one mariadbd. An Examiner examines the data directory while
// mariadbd is down: whether there is a database, at which position of which history, and which versions have used it;
// it changes nothing that could be data. A Supervisor has the running mariadbd: its process, its status, how it is
// stopped, and when it is given up, counts as hung, or is killed. A Maintainer maintains a member that serves: root's
// password, the system tables, certificates and settings that a running server takes over, and what is left to do
// after the first database has been made. Package starting starts it.
package process
