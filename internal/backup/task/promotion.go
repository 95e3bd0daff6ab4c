package task

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// Promotion is the record that a cluster has taken over from another one.
type Promotion struct {
	// Number distinguishes the records about one cluster, from 1 on. One that is to be recorded has none, unless it can
	// have no other one.
	Number uint64 `json:"number"`
	// Namespace, Name and UID are those of the cluster that has taken over.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// GTID is the last transaction of the other cluster that it has.
	GTID string `json:"gtid"`
	// Line is the line of history (HISTORY/ID) in which the cluster may have been sent what is not archived, "" where it
	// was sent the archive alone: in a later line GTID may be another transaction.
	Line string `json:"line,omitempty"`
	// Compared states that GTID was shown, before this was recorded, to be the same transaction in both clusters. It is
	// for a record that is made with a token; the programs of earlier releases did not compare, and do not write it.
	Compared bool `json:"compared,omitempty"`
	// Alone states that the cluster was sent the archive alone. The programs of earlier releases do not write it: without
	// a line, such a record shows nothing.
	Alone bool `json:"alone,omitempty"`
	// At is when it was recorded, by the clock of the program that did.
	At time.Time `json:"at,omitzero"`
	// Withdrawn states that the cluster itself goes on: no other one takes over with this number.
	Withdrawn bool `json:"withdrawn,omitempty"`
	// Followed states, where a record is overruled, that no person has done so: the cluster that the record is about has
	// followed the other one since, which may take over again.
	Followed bool `json:"followed,omitempty"`
}

// ID names the record to people: they name it to overrule it. What is recorded may be no UID: it can be overruled all
// the same.
func (p Promotion) ID() string {
	uid := p.UID[:min(len(p.UID), 8)]
	if strings.Trim(uid, "0123456789abcdef") != "" {
		sum := sha256.Sum256([]byte(p.UID))
		uid = hex.EncodeToString(sum[:4])
	}
	return fmt.Sprintf("%d-%s", p.Number, uid)
}

// HeaderAsks is the header of what the operator asks a program besides how far it is: AskHurry of the archiver, a
// Recording, as JSON, of what serves an archive. They believe only who shows their own certificate.
const (
	HeaderAsks = "Galera-Asks"
	AskHurry   = "hurry"
)

// Recording is a promotion that is to be recorded, in a store that creates nothing conditionally if SingleWriter, and
// that has the segment with a Checksum, if that is named.
type Recording struct {
	Promotion
	Segment      uint64 `json:"segment,omitempty"`
	Checksum     string `json:"checksum,omitempty"`
	SingleWriter bool   `json:"singleWriter,omitempty"`
	// Ahead is the last transaction that the cluster has where that is not the one of the token, "" where it is: nothing
	// is recorded then.
	Ahead string `json:"ahead,omitempty"`
}
