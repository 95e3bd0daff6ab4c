package task

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// Archive follows the binary log of a cluster.
type Archive struct {
	// Dir is the cluster's directory of the store (manifest.Dir).
	Dir string `json:"dir"`
	// Recipients are the age public keys it is encrypted for.
	Recipients []string `json:"recipients"`
	// Nodes are the hosts of the nodes, ReadOnly the host of the Service that leads to one that is better than others.
	Nodes    []string `json:"nodes"`
	ReadOnly string   `json:"readOnly"`
	// User is the account, which has the certificate in ClientDir and no password.
	User string `json:"user"`
	// IntervalSeconds is how often what was read is stored.
	IntervalSeconds int `json:"intervalSeconds"`
	// Session is the time in which the archive is enabled without a break: a later one begins a new chain.
	Session string `json:"session"`
	// WindowSeconds is for how long every point in time is kept.
	WindowSeconds int64 `json:"windowSeconds"`
	// Damaged are the IDs of backups that were found damaged: they are no base. KeepAll reports whether there are more of
	// them than are named, so that no segment may be removed.
	Damaged []string `json:"damaged,omitempty"`
	KeepAll bool     `json:"keepAll,omitempty"`
	// SingleWriter reports whether the store creates nothing conditionally, and nothing else writes to it.
	SingleWriter bool `json:"singleWriter,omitempty"`
	// Ended is the position up to which the cluster has followed a source, "" for none: its domains do not go on.
	Ended string `json:"ended,omitempty"`
	// Overrules and Replaced are the IDs of promotions that do not count any more, "" for none: the one that a person has
	// overruled, and the one after which the cluster has followed the other one.
	Overrules string `json:"overrules,omitempty"`
	Replaced  string `json:"replaced,omitempty"`
	// Place is where the store is (location.Annotation): it is reported with what was read there.
	Place string `json:"place,omitempty"`
	// Withdraws is to be recorded, unless another cluster has taken over with that number; nil for none.
	Withdraws *Promotion `json:"withdraws,omitempty"`
}

// Archived is what the archiver reports.
type Archived struct {
	// Node is the one that is followed, "" for none.
	Node string `json:"node,omitempty"`
	// Through is until when the archive has all that was committed, GTID its last transaction, Segment the number of its
	// last segment.
	Through time.Time `json:"through,omitzero"`
	GTID    string    `json:"gtid,omitempty"`
	Segment uint64    `json:"segment,omitempty"`
	// Checksum is that of the head of that segment.
	Checksum string `json:"checksum,omitempty"`
	// Lines are the lines of history of its chain, in order; none while no other cluster has taken over.
	Lines []binlog.Line `json:"lines,omitempty"`
	// Bytes is the size of all segments in the store, 0 while it is not known.
	Bytes int64 `json:"bytes,omitempty"`
	// Chain is the number of the segment from which on nothing is missing. Gap is why no backup leads there, though there
	// was an archive before.
	Chain uint64 `json:"chain,omitempty"`
	Gap   string `json:"gap,omitempty"`
	// Base is the earliest backup that the archive goes on from, complete at From; "" for none. Surveyed states that all
	// of these were looked for.
	Base     string    `json:"base,omitempty"`
	From     time.Time `json:"from,omitzero"`
	Surveyed bool      `json:"surveyed,omitempty"`
	// Needed are the backups that points in time of the window are reached from, nil while that is not known.
	Needed []string `json:"needed,omitzero"`
	// Unfit is the latest backup when the archive goes on from none, and UnfitWhy why it does not from this one.
	Unfit    string `json:"unfit,omitempty"`
	UnfitWhy string `json:"unfitWhy,omitempty"`
	// Kept is why no segment is removed, "" when those that nothing needs are.
	Kept string `json:"kept,omitempty"`
	// Unread reports whether the backups could not be read last: one that is complete may not be known yet.
	Unread bool `json:"unread,omitempty"`
	// Clocks is which clocks differ from the others, "" when those that were asked agree.
	Clocks string `json:"clocks,omitempty"`
	// Skew is how the nodes number transactions differently, nil while they are not known to.
	Skew *Skew `json:"skew,omitempty"`
	// Problem is what has failed last, "" when all is well; Reason is one of the Reason constants.
	Problem string `json:"problem,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Promotion is the one of another cluster that counts, nil for none, and while it is not known.
	Promotion *Promotion `json:"promotion,omitempty"`
	// Place is Archive.Place.
	Place string `json:"place,omitempty"`
	// Next is the number of the next record of a promotion, 0 while it is not known. Withdrawn is the number of
	// Archive.Withdraws once that is recorded.
	Next      uint64 `json:"next,omitempty"`
	Withdrawn uint64 `json:"withdrawn,omitempty"`
	// Unrecorded is why the records of promotions could not be read last, or Archive.Withdraws not be recorded, "" for
	// nothing.
	Unrecorded string `json:"unrecorded,omitempty"`
}
