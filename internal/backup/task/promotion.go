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
