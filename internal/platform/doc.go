// Package platform has what programs in a database pod need of the operating system: the places of its files
// (Places), child processes and the duties of PID 1 (ProcessTable), listening sockets that a successor takes over
// (SocketSet), mounted directories that change (WatchDirs), TCP connections as the kernel knows them
// (StreamSilence, RoundTrip, StreamAnswers), how late the kernel runs this process (LatencyMeter), and the copy of
// the running program on a volume (InstallAgent).
//
// A ProcessTable reaps orphans without ever taking an exit status from the function that waits for it. Kubelet swaps
// the symbolic link ..data of a mounted ConfigMap or Secret, so WatchDirs watches directories and not files.
package platform
