package screen

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/plugin/related"
)

// Cluster is one screen about a cluster: what is wrong and what to do first, then nodes, encryption, certificates and
// the last backup. Without a report nothing is said of what belongs to the cluster.
func Cluster(c *v1alpha1.GaleraCluster, r *related.Report, s Style) string {
	var b strings.Builder
	b.WriteString(headline(c, s))
	b.WriteString(marks(r, s))
	b.WriteString(noOperator(r, s))
	b.WriteString(troubles(c, s))
	b.WriteString(operation(c, s))
	b.WriteString(copying(c, s))
	b.WriteString(requests(c, s))
	b.WriteString(findings(c, r, s))
	if len(c.Status.Members) > 0 {
		b.WriteString("\n" + nodes(c, s))
		b.WriteString("\n" + Encryption(c, s))
	}
	b.WriteString(proxies(r, s))
	if end := lastBackup(r, s) + unread(c, r, s); end != "" {
		b.WriteString("\n" + end)
	}
	return b.String()
}

func headline(c *v1alpha1.GaleraCluster, s Style) string {
	words := []cell{{c.Namespace + "/" + c.Name, bold}}
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionAvailable, v1alpha1.ConditionEncrypted} {
		of := condition(c, kind)
		if of.Reason == v1alpha1.ReasonPartlyEncrypted {
			words = append(words, cell{"~ Partly encrypted", yellow})
			continue
		}
		words = append(words, mark(kind, of.Status))
	}
	if c.AtRest() != nil {
		words = append(words, mark(v1alpha1.ConditionEncryptedAtRest,
			condition(c, v1alpha1.ConditionEncryptedAtRest).Status))
	}
	replicas := c.Status.Replicas
	if replicas == 0 {
		replicas = c.Spec.Replicas
	}
	words = append(words, plain(fmt.Sprintf("%d of %d nodes Synced", c.Status.ReadyReplicas, replicas)))
	if c.DeletionTimestamp != nil {
		words = append(words, cell{"being deleted", red})
	}
	return s.words(words)
}

// mark is a condition in a word.
func mark(kind string, status metav1.ConditionStatus) cell {
	switch status {
	case metav1.ConditionTrue:
		return cell{"✓ " + kind, green}
	case metav1.ConditionFalse:
		return cell{"✗ " + kind, red}
	}
	return cell{"? " + kind, yellow}
}

func condition(c *v1alpha1.GaleraCluster, kind string) metav1.Condition {
	if found := meta.FindStatusCondition(c.Status.Conditions, kind); found != nil {
		return *found
	}
	return metav1.Condition{Type: kind, Status: metav1.ConditionUnknown}
}

// troubles explains why the cluster is not as it should be, the most urgent first, each message once. What conditions
// say of the required actions is not shown again.
func troubles(c *v1alpha1.GaleraCluster, s Style) string {
	var b strings.Builder
	reported := map[string]bool{}
	show := func(colour, word string, of metav1.Condition) {
		if of.Message == "" || reported[of.Message] {
			return
		}
		reported[of.Message] = true
		b.WriteString("\n" + s.note(colour, word, of.Reason+": "+of.Message))
	}
	if len(c.Status.Conditions) == 0 {
		b.WriteString("\n" + s.noteWith(yellow, "not seen", "NoOperator: no operator has seen this cluster yet: "+
			"does one run, and does it watch this namespace?",
			related.FindOperator))
	}
	for _, a := range c.Status.RequiredActions {
		reported[a.Reason] = true
		b.WriteString("\n" + s.noteWith(red, "DO THIS", a.Reason+": "+a.Message, a.Command))
	}
	if stalled := condition(c, v1alpha1.ConditionStalled); stalled.Status == metav1.ConditionTrue &&
		len(c.Status.RequiredActions) == 0 {
		show(red, "DO THIS", stalled)
	}
	if paused := condition(c, v1alpha1.ConditionPaused); paused.Status == metav1.ConditionTrue &&
		!reported[paused.Reason] {
		show(yellow, "PAUSED", paused)
	}
	for _, kind := range []string{v1alpha1.ConditionAvailable, v1alpha1.ConditionReady, v1alpha1.ConditionEncrypted,
		v1alpha1.ConditionEncryptedAtRest, v1alpha1.ConditionQuorumHealthy, v1alpha1.ConditionCertificatesValid} {
		if of := condition(c, kind); of.Status == metav1.ConditionFalse && !reported[of.Reason] {
			show(yellow, "not "+kind, of)
		}
	}
	return b.String()
}

func operation(c *v1alpha1.GaleraCluster, s Style) string {
	o := c.Status.Operation
	if o == nil {
		return ""
	}
	what := o.Type
	if o.Target != "" {
		what += " of " + o.Target
	}
	if o.Step != "" {
		what += " (" + o.Step + ")"
	}
	if o.BootstrapMember != "" {
		what += ", begins with " + o.BootstrapMember + " at " + o.Position
	}
	return "\n" + s.note(bold, "operation", what+", for "+s.since(o.StartedAt.Time))
}

// copying is how far the copy of another server is.
func copying(c *v1alpha1.GaleraCluster, s Style) string {
	if c.Status.Restore == nil || c.Status.Restore.Progress == nil {
		return ""
	}
	p := c.Status.Restore.Progress
	what := fmt.Sprintf("%d of about %d rows", p.Rows, p.ExpectedRows)
	switch {
	case p.ComparedTables > 0:
		what = fmt.Sprintf("%d rows; compared %d of %d tables", p.Rows, p.ComparedTables, p.Tables)
	case p.ExpectedRows > 0:
		what = bar(float64(p.Rows)/float64(p.ExpectedRows)) + " " + what
	}
	if p.ETA != nil {
		what += ", the last one about " + p.ETA.UTC().Format("15:04") + " UTC; all tables are compared then"
	}
	return "\n" + s.note(bold, "copy", what+" ("+s.since(p.ObservedAt.Time)+" ago)")
}

// requests are what people asked for and did not get yet, and what could not be met during the last hour.
func requests(c *v1alpha1.GaleraCluster, s Style) string {
	out := ""
	for _, r := range c.Status.Requests {
		what := strings.ToLower(r.Kind) + " " + r.Node
		switch r.State {
		case v1alpha1.RequestPending:
			out += "\n" + s.note(yellow, what, "asked for "+s.since(r.RequestedAt.Time)+" ago: "+r.Message)
		case v1alpha1.RequestExpired:
			if r.EndedAt != nil && s.Now.Sub(r.EndedAt.Time) < time.Hour {
				out += "\n" + s.note(red, what, "was given up "+age(s.Now.Sub(r.EndedAt.Time))+" ago: "+r.Message)
			}
		case v1alpha1.RequestDone, v1alpha1.RequestCancelled:
		default: // the word of a later release
			out += "\n" + s.note(yellow, what, r.State+": "+r.Message)
		}
	}
	return out
}

func nodes(c *v1alpha1.GaleraCluster, s Style) string {
	rows := [][]cell{{plain("NODE"), plain("STATE"), plain("COMPONENT"), plain("POSITION"), plain("VERSION"),
		plain("JOIN")}}
	var notes []string
	for _, m := range c.Status.Members {
		rows = append(rows, nodeRow(c, m))
		if m.Message != "" {
			notes = append(notes, s.note(red, m.Name, m.Message))
		}
		if j := m.Join; j != nil && j.EndedAt == nil && j.Message != "" {
			notes = append(notes, joinLine(m.Name, j, s))
		}
	}
	if a := c.Status.Arbitrator; a != nil {
		rows = append(rows, []cell{plain("arbitrator"), arbitrator(a), plain(""), plain(""), plain(a.Version), plain("")})
		if a.Message != "" {
			notes = append(notes, s.note(yellow, "arbitrator", a.Message))
		}
	}
	const component, version, join = 2, 4, 5
	return s.table(rows, version, component, join) + strings.Join(notes, "")
}

func arbitrator(a *v1alpha1.ArbitratorStatus) cell {
	if a.Connected {
		return cell{"votes", green}
	}
	return cell{"not connected", red}
}

func nodeRow(c *v1alpha1.GaleraCluster, m v1alpha1.MemberStatus) []cell {
	state := cell{m.NodeState, green}
	if m.NodeState != "Synced" {
		state.colour = yellow
	}
	if state.text == "" {
		state = cell{m.Phase, red}
	}
	if m.Lagging {
		state = cell{state.text + ", lags", yellow}
	}
	if m.Name == c.Status.Primary {
		state.text += " (primary)"
	}
	join := ""
	if j := m.Join; j != nil && j.EndedAt != nil {
		join = j.Kind
		if j.Donor != "" {
			join += " from " + j.Donor
		}
	}
	return []cell{plain(m.Name), state, plain(m.ComponentState), plain(short(m.Position)), plain(m.Version), plain(join)}
}

// short leaves of a position what distinguishes positions of one history.
func short(position string) string {
	uuid, seqno, ok := strings.Cut(position, ":")
	if !ok || len(uuid) < 8 {
		return position
	}
	return uuid[:8] + "…:" + seqno
}

func joinLine(name string, j *v1alpha1.JoinStatus, s Style) string {
	line := ""
	if j.BytesDone != nil && j.BytesTotal != nil && j.BytesTotal.Value() > 0 {
		line += bar(float64(j.BytesDone.Value())/float64(j.BytesTotal.Value())) + " "
	}
	return s.note(yellow, name, line+j.Message)
}

// left is how long something is valid.
func left(s Style, until *metav1.Time) cell {
	if until == nil {
		return plain("?")
	}
	d := until.Sub(s.Now)
	switch {
	case d <= 0:
		return cell{"expired " + age(-d) + " ago", red}
	case d < 7*24*time.Hour:
		return cell{age(d) + " left", yellow}
	}
	return cell{age(d) + " left", green}
}

// Recovery is what is known of a cluster that cannot start by itself: the members with their data, and what is asked of
// a person.
func Recovery(c *v1alpha1.GaleraCluster, s Style) string {
	rows := [][]cell{{plain("NODE"), plain("PHASE"), plain("COMPONENT"), plain("POSITION")}}
	notes := ""
	for _, m := range c.Status.Members {
		note := m.Message
		if note == "" && m.Phase == "Unknown" {
			note = "its agent does not answer"
		}
		rows = append(rows, []cell{plain(m.Name), plain(m.Phase), plain(m.ComponentState), plain(m.Position)})
		if note != "" {
			notes += s.note(red, m.Name, note)
		}
	}
	out := headline(c, s) + "\n" + s.table(rows) + notes
	if since := c.Status.NoPrimarySince; since != nil {
		out += "no Primary component for " + s.since(since.Time) + "\n"
	}
	if t := troubles(c, s); t != "" {
		return out + t
	}
	return out + "\nnothing is asked of you\n"
}
