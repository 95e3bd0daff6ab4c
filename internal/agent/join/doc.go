// Package join is the agent's component for state transfers, on both sides.
//
// A JoinerTracker follows a join: it records the kind of the state transfer and its donor, follows its progress, ends
// a stalled one, and removes the joining marker once the state is complete and synced to disk. A DonorTracker follows
// the transfers of which this member is the donor, and the size of its data, by which joiners judge whether an SST
// fits. When a transfer has stalled is decided by package lifecycle.
//
// A GCache knows how much is written to the cluster, how large Galera's cache has to be to hold a given time of it, and
// for how long an absent member can still be helped by IST. CopyThrottled and EnlargePipes stand between the programs
// of a transfer.
package join
