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
	rows := [][]cell{{plain("ENCRYPTION"), plain("replication"), plain("stateTransfer"), plain("clients")}}
	rows = append(rows, []cell{{"policy", dim}, {string(c.Spec.TLS.Replication), dim}, {orFollows(string(c.Spec.TLS.StateTransfer)), dim}, {string(c.Spec.TLS.Clients), dim}})
	var wrong []string
	p := c.Spec.TLS
	for _, m := range c.Status.Members {
		t := m.TLS
		if t == nil {
			t = &v1alpha1.MemberTLSStatus{}
		}
		rows = append(rows, []cell{plain(m.Name), channel(t.Replication, string(p.Replication)), channel(t.StateTransfer, cmp.Or(string(p.StateTransfer), string(p.Replication))), channel(t.Clients, string(p.Clients))})
		for name, ch := range map[string]*v1alpha1.ChannelStatus{"replication": t.Replication, "stateTransfer": t.StateTransfer, "clients": t.Clients} {
			if ch != nil && ch.Message != "" {
				wrong = append(wrong, s.paint(red, m.Name+" "+name)+"  "+s.wrap(ch.Message, len(m.Name)+len(name)+3))
			}
		}
	}
	out := s.table(rows)
	if len(wrong) > 0 {
		slices.Sort(wrong)
		out += strings.Join(wrong, "\n") + "\n"
	}
	return out + "✓ TLS was observed, = and plaintext was refused\n" + certificates(c, s)
}

func orFollows(policy string) string {
	if policy == "" {
		return "follows"
	}
	return policy
}

// channel is what was observed of one: the protocol, the suite without what all of them have, and = where plaintext was refused.
func channel(c *v1alpha1.ChannelStatus, policy string) cell {
	if c == nil {
		return cell{"?", yellow}
	}
	switch c.Observed {
	case "TLS":
		suite := strings.TrimPrefix(c.Cipher, "TLS_")
		for _, end := range []string{"_SHA256", "_SHA384"} {
			suite = strings.TrimSuffix(suite, end)
		}
		text := strings.TrimSpace("✓ " + strings.TrimPrefix(c.Protocol, "TLSv") + " " + suite)
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
		return cell{"~ TLS and plaintext", yellow}
	}
	return cell{"? " + strings.ToLower(c.Observed), yellow}
}

func certificates(c *v1alpha1.GaleraCluster, s Style) string {
	t := c.Status.TLS
	if t == nil {
		return ""
	}
	rows := [][]cell{{plain("CERTIFICATE"), plain("VALID"), plain("")}}
	if t.NotAfter != nil {
		rows = append(rows, []cell{plain("nodes"), left(s, t.NotAfter), plain(t.Key + " " + t.Serial[:min(len(t.Serial), 16)])})
	}
	for _, ca := range t.TrustedCAs {
		rows = append(rows, []cell{plain("CA, " + strings.ToLower(ca.State)), left(s, ca.NotAfter), plain(ca.Subject)})
	}
	out := ""
	if len(rows) > 1 {
		out = "\n" + s.table(rows)
	}
	if t.Step != "" && t.Step != "Settled" {
		out += s.paint(yellow, "the CA is being replaced: "+t.Step) + "\n"
	}
	if sw := t.Switch; sw != nil {
		out += s.paint(yellow, fmt.Sprintf("switching replication from %s to %s (%s), for %s", sw.From, sw.To, sw.Strategy, age(s.Now.Sub(sw.StartedAt.Time)))) + "\n"
	}
	return out
}
