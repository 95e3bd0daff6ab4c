package screen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Encryption is the matrix of nodes and channels as it was observed, and the certificates behind it.
func Encryption(c *v1alpha1.GaleraCluster, s Style) string {
	out, wrong := matrix(c, s, full)
	for _, as := range []detail{protocol, symbols} {
		if s.tooWide(out) {
			out, wrong = matrix(c, s, as)
		}
	}
	return s.table(out) + strings.Join(wrong, "") + s.wrap("✓ TLS was observed, = and plaintext was refused", 0) + "\n" +
		certificates(c, s)
}

// detail is how much of a channel has space.
type detail int

const (
	full detail = iota
	// protocol leaves the cipher suite out.
	protocol
	// symbols has only ✓, = and ✗.
	symbols
)

// matrix is the table of nodes and channels, and what is wrong with them.
func matrix(c *v1alpha1.GaleraCluster, s Style, as detail) ([][]cell, []string) {
	rows := [][]cell{{plain("ENCRYPTION"), plain("replication"), plain("stateTransfer"), plain("clients")}}
	if as == symbols {
		rows = [][]cell{{plain("NODE"), plain("repl."), plain("transfer"), plain("clients")}}
	}
	transfers := cmp.Or(c.Spec.TLS.StateTransfer, c.Spec.TLS.Replication)
	rows = append(rows, []cell{{"policy", dim}, {string(c.Spec.TLS.Replication), dim}, {string(transfers), dim},
		{string(c.Spec.TLS.Clients), dim}})
	var wrong []string
	p := c.Spec.TLS
	for _, m := range c.Status.Members {
		t := m.TLS
		if t == nil {
			t = &v1alpha1.MemberTLSStatus{}
		}
		rows = append(rows, []cell{plain(m.Name), channel(t.Replication, string(p.Replication), as),
			channel(t.StateTransfer, cmp.Or(string(p.StateTransfer), string(p.Replication)), as),
			channel(t.Clients, string(p.Clients), as)})
		for name, ch := range map[string]*v1alpha1.ChannelStatus{"replication": t.Replication,
			"stateTransfer": t.StateTransfer, "clients": t.Clients} {
			if ch != nil && ch.Message != "" {
				wrong = append(wrong, s.note(red, m.Name+" "+name, ch.Message))
			}
		}
	}
	slices.Sort(wrong)
	return rows, wrong
}

// channel is what was observed of one: the protocol, the suite without what all of them have, and = where plaintext was
// refused.
func channel(c *v1alpha1.ChannelStatus, policy string, as detail) cell {
	if c == nil {
		return cell{"?", yellow}
	}
	switch c.Observed {
	case "TLS":
		suite := strings.TrimPrefix(c.Cipher, "TLS_")
		for _, end := range []string{"_SHA256", "_SHA384"} {
			suite = strings.TrimSuffix(suite, end)
		}
		text := "✓ " + strings.TrimPrefix(c.Protocol, "TLSv") + " " + suite
		switch as {
		case protocol:
			text = "✓ " + strings.TrimPrefix(c.Protocol, "TLSv")
		case symbols:
			text = "✓"
		}
		text = strings.TrimSpace(text)
		if c.PlaintextRefused {
			return cell{text + " =", green}
		}
		return cell{text, green}
	case "Plaintext":
		if policy == "Disabled" {
			return plain("plaintext")
		}
		return cell{"✗ plaintext", red}
	case "Mixed":
		if as != full {
			return cell{"~ mixed", yellow}
		}
		return cell{"~ TLS and plaintext", yellow}
	}
	return cell{strings.TrimSpace("? " + strings.ToLower(c.Observed)), yellow}
}

func certificates(c *v1alpha1.GaleraCluster, s Style) string {
	t := c.Status.TLS
	if t == nil {
		return ""
	}
	rows := [][]cell{{plain("CERTIFICATE"), plain("VALID"), plain("")}}
	if t.NotAfter != nil {
		rows = append(rows, []cell{plain("nodes"), left(s, t.NotAfter),
			plain(t.Key + " " + t.Serial[:min(len(t.Serial), 16)])})
	}
	for _, ca := range t.TrustedCAs {
		rows = append(rows, []cell{plain("CA, " + strings.ToLower(ca.State)), left(s, ca.NotAfter), plain(ca.Subject)})
	}
	out := ""
	if len(rows) > 1 {
		const which = 2
		out = "\n" + s.table(rows, which)
	}
	if due := t.RenewalTime; t.NotAfter != nil && due != nil && s.Now.After(due.Add(t.NotAfter.Sub(due.Time)/2)) {
		// as the alert has it
		out += s.noteWith(yellow, "NOT RENEWED", fmt.Sprintf("cert-manager was to renew the nodes' certificate %s "+
			"ago. To see why", age(s.Now.Sub(due.Time))),
			fmt.Sprintf("kubectl describe certificate %s-issued -n %s", c.Name, c.Namespace))
	}
	if t.Step != "" && t.Step != "Settled" {
		text := "the CA is being replaced: " + t.Step
		if at := t.NewCAServedAfter; at != nil && at.After(s.Now) {
			text += fmt.Sprintf("; clients have %s more to read the new one", age(at.Sub(s.Now)))
		}
		out += s.paint(yellow, s.wrap(text, 0)) + "\n"
	}
	if sw := t.Switch; sw != nil {
		out += s.paint(yellow, s.wrap(fmt.Sprintf("switching replication from %s to %s (%s), for %s", sw.From, sw.To,
			sw.Strategy, s.since(sw.StartedAt.Time)), 0)) + "\n"
	}
	return out
}
