// Package datadir finds out what a member's data directory holds and where in the cluster's
// history it stands, and keeps the notes that make the answer certain after a crash.
//
// The rule behind all of it: files of an unfinished transfer are never taken for data, data of
// unknown position is never called empty, and nothing is deleted that could hold a write.
//
// A Volume gives the agent access to the directory: its queue does everything in order and outside of the event loop,
// because a volume may freeze for minutes. A VolumeWatch reports whether the volume answers.
package datadir
