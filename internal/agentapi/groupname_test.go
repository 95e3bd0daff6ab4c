package agentapi

import "testing"

func TestGroupName(t *testing.T) {
	for node, want := range map[string]string{
		"shop-0":                                      "shop-0",
		"replication-encryption-smalls-0":             "replication-encryption-smalls-0",
		"replication-encryption-small-db-0":           "replication-encryption-small--0",
		"replication-encryption-small-db-1":           "replication-encryption-small--1",
		"abcdefghijklmnopqrstuvwxyz-abcdefghijklm-10": "abcdefghijklmnopqrstuvwxyz-a-10",
	} {
		if got := GroupName(node); got != want {
			t.Errorf("%s: %s, want %s", node, got, want)
		}
	}
}
