package task

import (
	"fmt"
	"time"
)

// Promotion is the record that a cluster has taken over from another one.
type Promotion struct {
	// Number distinguishes the records about one cluster, from 1 on.
	Number uint64 `json:"number"`
	// Namespace, Name and UID are those of the cluster that has taken over.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// GTID is the last transaction of the other cluster that it has.
	GTID string `json:"gtid"`
	// At is when it was recorded, by the clock of the program that did.
	At time.Time `json:"at,omitzero"`
}

// ID names the record to people: they name it to overrule it.
func (p Promotion) ID() string { return fmt.Sprintf("%d-%s", p.Number, p.UID[:min(len(p.UID), 8)]) }
