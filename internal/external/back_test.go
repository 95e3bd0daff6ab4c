package external

import (
	"strings"
	"testing"
)

// TestBack: an old server begins after all that it has itself, and after what the cluster had written of its own before
// clients could.
func TestBack(t *testing.T) {
	t.Parallel()
	for own, want := range map[string]string{"1048576-1048576-7": "'0-1-4711,3-9-2,1048576-1048576-7'",
		"1048576-1048576-0": "'0-1-4711,3-9-2'"} {
		b := Back{Host: "shop.example.com", Port: 3307, User: "shop-back", CA: "/etc/it's", GTID: "0-1-4711,3-9-2", Own: own}
		all := strings.Join(b.Statements(), ";")
		for _, says := range []string{"read_only = ON;", "gtid_strict_mode = ON;", "'mysql.%';",
			"gtid_slave_pos = " + want + ";",
			"MASTER_HOST = 'shop.example.com', MASTER_PORT = 3307, MASTER_USER = 'shop-back'",
			`MASTER_SSL = 1, MASTER_SSL_VERIFY_SERVER_CERT = 1, MASTER_SSL_CA = '/etc/it\'s'`,
			"MASTER_USE_GTID = slave_pos"} {
			if !strings.Contains(all, says) {
				t.Errorf("%s lacks %s", all, says)
			}
		}
	}
	if all := strings.Join(Back{}.Statements(), ";"); !strings.Contains(all, "MASTER_SSL = 0") {
		t.Error(all)
	}
}

// TestBackRefuses: an old server that has other transactions, or carries out another server's, does not follow the
// cluster. One of an earlier series may, with a warning.
func TestBackRefuses(t *testing.T) {
	t.Parallel()
	b := Back{GTID: "3-9-2,0-1-4711", Own: "1048576-1048576-7"}
	for name, tc := range map[string]struct {
		edit func(o *OldServer)
		says string
	}{
		"it is as it was":     {func(*OldServer) {}, ""},
		"it has written":      {func(o *OldServer) { o.Position = "0-1-4712,3-9-2" }, "up to 3-9-2,0-1-4711"},
		"it lacks something":  {func(o *OldServer) { o.Position = "0-1-4711" }, "has written"},
		"it is a replica":     {func(o *OldServer) { o.Upstream = "a replica of db:3306" }, "STOP SLAVE"},
		"it may be a replica": {func(o *OldServer) { o.Unknown = "run there: GRANT" }, "not known: run there: GRANT"},
		"it follows the cluster already": {func(o *OldServer) {
			o.Followed, o.Position, o.Upstream = "0-1-4711,1048576-1048576-9", "0-1-4711,1048576-1048576-9,3-9-2", "a replica"
		}, "START SLAVE"},
		"it has followed it, and does not any more": {func(o *OldServer) {
			o.Followed = "0-1-4711,3-9-2,1048576-1048576-8"
		}, "up to 1048576-1048576-8"},
		"it was only given where to begin": {func(o *OldServer) { o.Followed = "0-1-4711,3-9-2,1048576-1048576-7" }, ""},
		"it has the nodes' server_id":      {func(o *OldServer) { o.ServerID = 1048576 }, "give it another one"},
	} {
		o := OldServer{Version: "11.8.6-MariaDB", Position: "0-1-4711, 3-9-2", ServerID: 1}
		tc.edit(&o)
		why := strings.Join(b.Refuses(o), ". ")
		if (why == "") != (tc.says == "") || !strings.Contains(why, tc.says) {
			t.Errorf("%s: %q", name, why)
		}
	}
	none := Back{GTID: b.GTID, Own: "1048576-1048576-0"}
	why := none.Refuses(OldServer{Position: b.GTID, ServerID: 1})
	if len(why) != 1 || !strings.Contains(why[0], "of its own") {
		t.Error("nothing of its own before the cutover:", why)
	}
	for version, warns := range map[string]bool{"12.3.1-MariaDB": false, "11.8.2-MariaDB-log": false,
		"10.11.14-MariaDB": true, "": false} {
		if got := (OldServer{Version: version}).Warns("11.8.3-MariaDB"); (got != "") != warns {
			t.Errorf("%s: %q", version, got)
		}
	}
}

// TestBackPositions: the latest own transaction of all nodes counts. A binary log that begins after it is of no use.
func TestBackPositions(t *testing.T) {
	t.Parallel()
	if got := ownIn("0-1-9, 1048576-1048576-7,5-1048576-3", 1048576, 1048576); got != "1048576-1048576-7" {
		t.Error(got)
	}
	if got := ownIn("0-1-9", 1048576, 1048576); got != "1048576-1048576-0" {
		t.Error(got)
	}
	for _, tc := range [][3]string{{"", "4-4-0", "4-4-0"}, {"4-4-9", "4-4-10", "4-4-10"}, {"4-4-10", "4-4-9", "4-4-10"}} {
		if got := laterOf(tc[0], tc[1]); got != tc[2] {
			t.Errorf("%q instead of %q", got, tc[2])
		}
	}
	b := Back{Own: "4-4-7"}
	if at, other := b.Foreign(4), b.Foreign(5); at != "" || !strings.Contains(other, "4-4-7, is not of this cluster") {
		t.Errorf("%q, %q", at, other)
	}
	for begins, lacks := range map[string]bool{"": false, "0-1-99": false, "0-1-99,4-4-7": false, "4-4-8": true,
		"0-1-99,4-4-8": true} {
		if got := b.missing(begins); (got != "") != lacks {
			t.Errorf("it begins after %q: %q", begins, got)
		}
	}
}
