package plugin

import (
	"strings"
	"testing"

	jobtask "github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestImportFlags: what a check lacks is named before a server is asked, and a Secret's values are used as the Jobs use
// them.
func TestImportFlags(t *testing.T) {
	good := importFlags{host: "db", port: 3306, credentials: "old", ca: "ca", verify: "Identity"}
	secret := map[string][]byte{"username": []byte(" mover\n"), "password": []byte(" se cret \n")}
	ca := map[string][]byte{"ca.crt": []byte("PEM")}
	for name, c := range map[string]struct {
		change      func(f *importFlags)
		credentials map[string][]byte
		ca          map[string][]byte
		refused     string
	}{
		"all":                   {func(*importFlags) {}, secret, ca, ""},
		"no host":               {func(f *importFlags) { f.host = "" }, secret, ca, "--host is missing"},
		"no credentials":        {func(f *importFlags) { f.credentials = "" }, secret, ca, "--credentials is missing"},
		"neither CA nor clear":  {func(f *importFlags) { f.ca = "" }, secret, ca, "--ca, or use --insecure"},
		"both":                  {func(f *importFlags) { f.insecure = true }, secret, ca, "--ca, or use --insecure"},
		"in clear":              {func(f *importFlags) { f.ca, f.insecure = "", true }, secret, nil, ""},
		"an unknown name check": {func(f *importFlags) { f.verify = "No" }, secret, ca, "--verify No is not known"},
		"some databases, followed": {func(f *importFlags) { f.follow, f.databases = true, []string{"a"} }, secret, ca,
			"--follow takes over all databases"},
		"a size that is none": {func(f *importFlags) { f.size = "big" }, secret, ca, "--size big"},
		"another Secret":      {func(*importFlags) {}, map[string][]byte{"user": []byte("x")}, ca, "the Secret old lacks"},
		"no password": {func(*importFlags) {}, map[string][]byte{"username": []byte("x")}, ca,
			"the Secret old lacks"},
		"an empty password": {func(*importFlags) {},
			map[string][]byte{"username": []byte("x"), "password": {}}, ca, ""},
		"a CA of another key": {func(*importFlags) {}, secret, map[string][]byte{"tls.crt": nil}, "the Secret ca lacks"},
	} {
		f := good
		c.change(&f)
		err := f.refused()
		if err == nil {
			_, err = f.wanted()
		}
		if err == nil {
			_, err = f.server(c.credentials, c.ca)
		}
		if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, err := good.server(secret, ca)
	if err != nil || s.User != "mover" || s.Password != " se cret " || string(s.CA) != "PEM" || !s.Identity || s.Plain {
		t.Errorf("%+v, %v", s, err)
	}
	good.size, good.version = "1Gi", "11.8"
	if w, err := good.wanted(); err != nil || w.VolumeBytes != 1<<30 || w.Version != "11.8" {
		t.Errorf("%+v, %v", w, err)
	}
}

// TestUnsuitable: a script sees whether a server can be copied.
func TestUnsuitable(t *testing.T) {
	if err := unsuitable(jobtask.Source{}); err != nil {
		t.Error(err)
	}
	found := jobtask.Source{Findings: []jobtask.Finding{{Name: "PrimaryKeyMissing"}}}
	if err := unsuitable(found); err == nil || !strings.Contains(err.Error(), "one finding") {
		t.Errorf("%v", err)
	}
	found.Findings = append(found.Findings, jobtask.Finding{Name: "EngineNotReplicated"})
	if err := unsuitable(found); err == nil || !strings.Contains(err.Error(), "2 findings") {
		t.Errorf("%v", err)
	}
}
