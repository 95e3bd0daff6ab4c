package screen

import (
	"fmt"
	"slices"
	"strings"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/plugin/related"
)

// maxFindings is how many findings of an area have space.
const maxFindings = 3

// areas are the parts of a report with their names, without those there is nothing to say of.
func areas(r *related.Report) (names []string, of []*related.Area) {
	if r == nil {
		return nil, nil
	}
	for i, a := range []*related.Area{r.Backups, r.Archive, r.Users, r.Proxies} {
		if a != nil {
			names, of = append(names, []string{"Backups", "Archive", "Users", "Proxies"}[i]), append(of, a)
		}
	}
	return names, of
}

// marks are one for each area.
func marks(r *related.Report, s Style) string {
	names, of := areas(r)
	if len(of) == 0 {
		return ""
	}
	var words []cell
	for i, a := range of {
		words = append(words, areaMark(names[i], a.State))
	}
	words[0].text = "  " + words[0].text
	return s.words(words)
}

func areaMark(name, state string) cell {
	switch state {
	case related.OK:
		return cell{"✓ " + name, green}
	case related.Failing:
		return cell{"✗ " + name, red}
	case related.Waiting:
		return cell{"… " + name, yellow}
	}
	return cell{"? " + name, yellow}
}

// noOperator comes before all that an operator has reported.
func noOperator(r *related.Report, s Style) string {
	if r == nil || r.Operator == nil {
		return ""
	}
	if r.Operator.State == related.Waiting {
		return "\n" + s.noteWith(yellow, "not seen", findingLine(*r.Operator), r.Operator.Command)
	}
	return "\n" + s.noteWith(red, "NO OPERATOR", findingLine(*r.Operator), r.Operator.Command)
}

// findings describe what is wrong with what belongs to a cluster. While it accepts no writes everything waits for it,
// and only failures are reported.
func findings(c *v1alpha1.GaleraCluster, r *related.Report, s Style) string {
	var b strings.Builder
	names, of := areas(r)
	for i, a := range of {
		reported := a.Findings
		if condition(c, v1alpha1.ConditionAvailable).Status != "True" {
			reported = slices.DeleteFunc(slices.Clone(reported),
				func(f related.Finding) bool { return f.State == related.Waiting })
		}
		for n, f := range reported {
			if n == maxFindings {
				b.WriteString("  " + s.wrap(fmt.Sprintf(
					"and %d more: kubectl galera status %s -n %s -o yaml has all, under related", len(reported)-n, c.Name,
					c.Namespace),
					2) + "\n")
				break
			}
			title := areaMark(names[i], f.State)
			b.WriteString("\n" + s.noteWith(title.colour, title.text, finding(c, f), f.Command))
		}
	}
	return b.String()
}

// finding is one in words, without its command.
func finding(c *v1alpha1.GaleraCluster, f related.Finding) string {
	name := f.Kind + " " + f.Name
	if f.Namespace != c.Namespace {
		name = f.Kind + " " + f.Namespace + "/" + f.Name
	}
	if f.Kind == "GaleraCluster" {
		name = ""
	}
	return strings.TrimPrefix(name+": ", ": ") + findingLine(f)
}

// findingLine is a finding without the name of its object.
func findingLine(f related.Finding) string {
	text := f.Reason
	for _, more := range []string{f.Message, f.Do} {
		if more == "" {
			continue
		}
		joint := ". "
		if more == f.Message {
			joint = ": "
		}
		text += joint + strings.TrimSuffix(more, ".")
	}
	return text
}

// lastBackup reports when the last backup was complete, or that there is none.
func lastBackup(r *related.Report, s Style) string {
	switch {
	case r == nil || r.Backups == nil && len(r.Unread) > 0:
		return ""
	case r.Backups == nil:
		return s.paint(yellow, s.wrap("there is no backup, and no schedule makes one", 0)) + "\n"
	case r.Backups.Last == nil && r.Backups.State == related.Unknown:
		return ""
	case r.Backups.Last == nil:
		return s.paint(yellow, s.wrap("no backup is complete", 0)) + "\n"
	}
	l := r.Backups.Last
	size := ""
	if l.StoredSize != "" {
		size = ", " + l.StoredSize
	}
	ago, at := age(s.Now.Sub(l.CompletedAt.Time))+" ago"+size, "at "+short(l.Position)
	line := []cell{plain("last backup: " + l.Name + ", " + ago + ", " + at)}
	if s.tooWide([][]cell{line}) {
		line = []cell{plain("last backup: " + l.Name), plain(ago), plain(at)}
	}
	if l.Verified != "" {
		line = append(line, mark("Verified", l.Verified))
	}
	return s.words(line)
}

// unread names what could not be read, and why: each reason once.
func unread(c *v1alpha1.GaleraCluster, r *related.Report, s Style) string {
	if r == nil {
		return ""
	}
	var out string
	kinds := map[string][]string{}
	for _, u := range r.Unread {
		name := map[string]string{"Secret": "binding Secrets", "GaleraProxy": "GaleraProxies"}[u.Kind]
		if name == "" {
			name = u.Kind + "s"
		}
		if u.Namespace != c.Namespace && u.Namespace != "" {
			name += " of " + u.Namespace
		} else if u.Namespace == "" {
			name += " of other namespaces"
		}
		kinds[u.Reason] = append(kinds[u.Reason], name)
		if u.Reason == related.Unreadable {
			out += s.note(yellow, "not shown", name+": "+u.Message)
		}
	}
	if of := kinds[related.Forbidden]; len(of) > 0 {
		out += s.noteWith(yellow, "not shown", strings.Join(of, ", ")+": you may not list them; ask for that "+
			"right. Those you have", "kubectl auth can-i --list -n "+c.Namespace)
	}
	if of := kinds[related.NotInstalled]; len(of) > 0 {
		out += s.note(yellow, "not shown", strings.Join(of, ", ")+
			": this Kubernetes does not know the kind. The operator is older than this plugin, or its CRDs were not updated")
	}
	return out
}
