package status

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/plan"
)

var (
	plainSockets  = galera.Encryption{Socket: galera.SocketPlain}
	strictSockets = galera.Encryption{Socket: galera.SocketStrict}
)

// switching is a healthy cluster that runs with one encryption and is wanted with another.
func switching(running, wanted galera.Encryption) Input {
	in := healthy()
	in.Snapshot.Published, in.Snapshot.Wanted = running, wanted
	for i := range in.Snapshot.Members {
		in.Snapshot.Members[i].Running = running
	}
	return in
}

// returned reports when, in seconds before noon, a node was away, and how it came back.
func returned(in *Input, name string, from, to int, kind string) {
	seen := in.Seen[name]
	left := noon.Add(time.Duration(-from) * time.Second)
	seen.Report.Away = append(seen.Report.Away, agentapi.Away{From: left, To: noon.Add(time.Duration(-to) * time.Second)})
	seen.Report.Join = &agentapi.Join{Kind: kind, StartedAt: left}
	in.Seen[name] = observe.Seen{Report: seen.Report, Live: true}
}

func TestSwitchIsFollowed(t *testing.T) {
	in := switching(plainSockets, strictSockets)
	in.Decision.Action = plan.Begin{Operation: galera.Operation{Type: galera.OpSwitchTLS, Step: "Rolling"}}
	begun, last := switches(in, nil)
	if begun == nil || last != nil || begun.From != "Plain" || begun.To != "Strict" || begun.Strategy != "Rolling" ||
		!begun.StartedAt.Time.Equal(noon) {
		t.Fatalf("begun %+v, last %+v", begun, last)
	}
	before := &v1alpha1.ClusterTLSStatus{Switch: begun}
	begun.StartedAt = metav1.NewTime(noon.Add(-time.Minute))

	half := switching(plainSockets, strictSockets)
	half.Snapshot.Published = strictSockets
	if now, _ := switches(half, before); now == nil {
		t.Error("published is not yet run by all")
	}
	for name, tc := range map[string]struct {
		away   [3][2]int
		kinds  [3]string
		outage time.Duration
		sst    int32
	}{
		"one after another":   {[3][2]int{{50, 45}, {40, 35}, {30, 25}}, [3]string{"IST", "IST", "IST"}, 0, 0},
		"all at once for 2 s": {[3][2]int{{50, 10}, {45, 12}, {20, 18}}, [3]string{"IST", "SST", "IST"}, 2 * time.Second, 1},
		"before the switch":   {[3][2]int{{90, 80}, {90, 80}, {90, 80}}, [3]string{"SST", "SST", "SST"}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			done := switching(strictSockets, strictSockets)
			for i, m := range done.Snapshot.Members {
				returned(&done, m.Name, 59-i, 58-i, "IST") // an ordinary turn
				returned(&done, m.Name, tc.away[i][0], tc.away[i][1], tc.kinds[i])
			}
			now, last := switches(done, before)
			if now != nil || last == nil || last.CompletedAt == nil || last.Outage == nil || last.Outage.Duration != tc.outage ||
				last.JoinsBySST != tc.sst {
				t.Errorf("now %+v, last %+v", now, last)
			}
		})
	}
}
