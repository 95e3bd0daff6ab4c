package screen

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Cluster is one screen about a cluster: what is wrong and what to do first, then nodes, encryption, certificates and backups.
func Cluster(c *v1alpha1.GaleraCluster, backups []v1alpha1.GaleraBackup, s Style) string {
	var b strings.Builder
	b.WriteString(headline(c, s))
	b.WriteString(troubles(c, s))
	b.WriteString(operation(c, s))
	b.WriteString("\n" + nodes(c, s))
	b.WriteString("\n" + Encryption(c, s))
	if len(backups) > 0 {
		b.WriteString("\n" + backupsLine(backups, s))
	}
	return b.String()
}

func headline(c *v1alpha1.GaleraCluster, s Style) string {
	words := []string{s.paint(bold, c.Namespace+"/"+c.Name)}
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionAvailable, v1alpha1.ConditionEncrypted} {
		words = append(words, mark(s, kind, condition(c, kind).Status))
	}
	replicas := c.Status.Replicas
	if replicas == 0 {
		replicas = c.Spec.Replicas
	}
	words = append(words, fmt.Sprintf("%d of %d nodes Synced", c.Status.ReadyReplicas, replicas))
	return strings.Join(words, "  ") + "\n"
}

// mark is a condition in a word.
func mark(s Style, kind string, status metav1.ConditionStatus) string {
	switch status {
	case metav1.ConditionTrue:
		return s.paint(green, "✓ "+kind)
	case metav1.ConditionFalse:
		return s.paint(red, "✗ "+kind)
	}
	return s.paint(yellow, "? "+kind)
}

func condition(c *v1alpha1.GaleraCluster, kind string) metav1.Condition {
	if found := meta.FindStatusCondition(c.Status.Conditions, kind); found != nil {
		return *found
	}
	return metav1.Condition{Type: kind, Status: metav1.ConditionUnknown}
}

// troubles says why the cluster is not as it should be, the most urgent first, each message once.
func troubles(c *v1alpha1.GaleraCluster, s Style) string {
	var b strings.Builder
	told := map[string]bool{}
	tell := func(colour, word string, of metav1.Condition) {
		if of.Message == "" || told[of.Message] {
			return
		}
		told[of.Message] = true
		indent := len(word) + 2
		b.WriteString("\n" + s.paint(colour, word) + "  " + s.message(of.Reason+": "+of.Message, indent) + "\n")
	}
	if stalled := condition(c, v1alpha1.ConditionStalled); stalled.Status == metav1.ConditionTrue {
		tell(red, "DO THIS", stalled)
	}
	if paused := condition(c, v1alpha1.ConditionPaused); paused.Status == metav1.ConditionTrue {
		tell(yellow, "PAUSED", paused)
	}
	for _, kind := range []string{v1alpha1.ConditionAvailable, v1alpha1.ConditionReady, v1alpha1.ConditionEncrypted, v1alpha1.ConditionQuorumHealthy, v1alpha1.ConditionCertificatesValid} {
		if of := condition(c, kind); of.Status == metav1.ConditionFalse {
			tell(yellow, "not "+kind, of)
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
	return "\n" + s.paint(bold, "operation") + "  " + what + ", for " + age(s.Now.Sub(o.StartedAt.Time)) + "\n"
}

func nodes(c *v1alpha1.GaleraCluster, s Style) string {
	rows := [][]cell{{plain("NODE"), plain("STATE"), plain("COMPONENT"), plain("POSITION"), plain("VERSION"), plain("JOIN")}}
	var notes []string
	for _, m := range c.Status.Members {
		rows = append(rows, nodeRow(c, m))
		if m.Message != "" {
			notes = append(notes, s.paint(red, m.Name)+"  "+s.message(m.Message, len(m.Name)+2))
		}
		if j := m.Join; j != nil && j.EndedAt == nil && j.Message != "" {
			notes = append(notes, joinLine(m.Name, j, s))
		}
	}
	if a := c.Status.Arbitrator; a != nil {
		rows = append(rows, []cell{plain("arbitrator"), arbitrator(a), plain(""), plain(""), plain(a.Version), plain("")})
		if a.Message != "" {
			notes = append(notes, s.paint(yellow, "arbitrator")+"  "+s.wrap(a.Message, 12))
		}
	}
	out := s.table(rows)
	if len(notes) > 0 {
		out += strings.Join(notes, "\n") + "\n"
	}
	return out
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

// short leaves of a position what tells positions of one history apart.
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
	return s.paint(yellow, name) + "  " + s.wrap(line+j.Message, len(name)+2)
}

func backupsLine(backups []v1alpha1.GaleraBackup, s Style) string {
	for _, b := range backups {
		if b.Status.Phase == v1alpha1.BackupCompleted && b.Status.CompletedAt != nil {
			size := ""
			if b.Status.StoredSize != nil {
				size = ", " + b.Status.StoredSize.String()
			}
			verified := ""
			if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionVerified); c != nil {
				verified = "  " + mark(s, "Verified", c.Status)
			}
			return fmt.Sprintf("last backup: %s, %s ago%s, at %s%s\n", b.Name, age(s.Now.Sub(b.Status.CompletedAt.Time)), size, short(b.Status.Position), verified)
		}
	}
	return s.paint(yellow, "no backup is complete: "+backups[0].Name+" is "+backups[0].Status.Phase) + "\n"
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

// Recovery is what is known of a cluster that cannot start by itself: the members with their data, and what is asked of a person.
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
			notes += s.paint(red, m.Name) + "  " + s.message(note, len(m.Name)+2) + "\n"
		}
	}
	out := headline(c, s) + "\n" + s.table(rows) + notes
	if since := c.Status.NoPrimarySince; since != nil {
		out += "no Primary component for " + age(s.Now.Sub(since.Time)) + "\n"
	}
	if t := troubles(c, s); t != "" {
		return out + t
	}
	return out + "\nnothing is asked of you\n"
}
