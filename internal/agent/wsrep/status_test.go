package wsrep

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/galera"
)

const someUUID = "90e0b86f-e577-11f1-b9b1-fa90d5744545"

func TestParseStatus(t *testing.T) {
	s := parseStatus(map[string]string{
		"wsrep_cluster_status": "Primary", "wsrep_local_state_comment": "Joining: receiving State Transfer",
		"wsrep_ready": "OFF", "wsrep_cluster_state_uuid": someUUID, "wsrep_local_state_uuid": someUUID,
		"wsrep_last_committed": "17", "wsrep_cluster_conf_id": "18446744073709551615", "wsrep_cluster_size": "3",
		"wsrep_local_index": "18446744073709551615", "wsrep_local_recv_queue": "4", "wsrep_replicated_bytes": "12",
		"wsrep_received_bytes": "3", "wsrep_flow_control_sent": "6", "wsrep_flow_control_requested": "true",
	})
	if s.Pauses != 6 || !s.Pausing {
		t.Errorf("pauses: %+v", s)
	}
	if s.Server.Component != galera.ComponentPrimary || s.Server.State != galera.NodeJoining || s.Server.Ready {
		t.Errorf("state: %+v", s.Server)
	}
	if s.Position != (galera.Position{UUID: someUUID, Seqno: 17}) {
		t.Errorf("position: %v", s.Position)
	}
	if s.Server.Index != -1 || s.Server.ViewID != 0 || s.Server.Size != 3 || s.Server.ReceiveQueue != 4 {
		t.Errorf("numbers: %+v", s.Server)
	}
	if s.Evicted || s.Agreed {
		t.Errorf("no server was evicted: %+v", s)
	}
	if s := parseStatus(map[string]string{"wsrep_evs_state": "OPERATIONAL",
		"wsrep_evs_evict_list": someUUID}); !s.Evicted || !s.Agreed {
		t.Errorf("a server was evicted: %+v", s)
	}
	if s.Written != 15 {
		t.Errorf("written: %d", s.Written)
	}
}

func TestParseStatusKnowsNothingFromNothing(t *testing.T) {
	s := parseStatus(nil)
	if s.Server.Component != galera.ComponentUnknown || s.Server.State != galera.NodeUnknown || s.Position.Known() ||
		s.Server.Index != -1 {
		t.Errorf("%+v", s)
	}
}

// TestParseStatusOfOneThatLeft has what a real server said after "Receiving IST failed, node restart required".
func TestParseStatusOfOneThatLeft(t *testing.T) {
	v := map[string]string{
		"wsrep_cluster_status": "non-Primary", "wsrep_local_state_comment": "Joining: receiving State Transfer",
		"wsrep_connected": "ON",
		"wsrep_ready":     "OFF", "wsrep_cluster_state_uuid": someUUID, "wsrep_local_state_uuid": someUUID,
		"wsrep_last_committed":  "150",
		"wsrep_cluster_conf_id": "2", "wsrep_cluster_size": "2",
	}
	if s := parseStatus(v); s.Server.Component != galera.ComponentDisconnected || s.Server.Size != 0 {
		t.Errorf("in no group: %+v", s.Server)
	}
	v["wsrep_gcomm_uuid"], v["wsrep_evs_state"] = someUUID, "GATHER"
	if s := parseStatus(v); s.Server.Component != galera.ComponentNonPrimary {
		t.Errorf("in a group without quorum: %+v", s.Server)
	}
}

func TestStates(t *testing.T) {
	for text, want := range map[string]galera.NodeState{
		"Synced": galera.NodeSynced, "Donor/Desynced": galera.NodeDonor, "Joined": galera.NodeJoined,
		"Joining": galera.NodeJoining, "Joining: preparing for State Transfer": galera.NodeJoining,
		"Initialized": galera.NodeJoining, "": galera.NodeUnknown, "Inconsistent": galera.NodeUnknown,
	} {
		if got := state(text); got != want {
			t.Errorf("state(%q) = %q, want %q", text, got, want)
		}
	}
}
