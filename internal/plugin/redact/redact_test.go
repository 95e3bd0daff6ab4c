package redact

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// key is made up for this test.
const key = "-----BEGIN EC PRIVATE " +
	"KEY-----\nMHcCAQEEIOv0qkQ1v0PVy7kq1Vh0v3P0s9mQG0mA0vVn3qU5oAoGCCqGSM49\nAwEHoUQDQgAE3bYq0b7Vw\n-----END EC PRIVATE " +
	"KEY-----\n"

// TestKnown: a value is replaced in every form it may have in a text.
func TestKnown(t *testing.T) {
	const password = `p@ss/w"rd'1 ü`
	r := New()
	r.Know("Secret shop-root/password", password)
	r.Know("Secret shop-tls/tls.key", key)
	r.Know("Secret app/password", "hello")
	for _, text := range []string{
		"login with " + password + " refused", url.QueryEscape(password), url.PathEscape(password),
		base64.StdEncoding.EncodeToString([]byte(password)),
		"  " + strings.ReplaceAll(key, "\n", "\n    "), "MHcCAQEEIOv0qkQ1v0PVy7kq1Vh0v3P0s9mQG0mA0vVn3qU5oAoGCCqGSM49",
		"say hello", "hello", "(hello,hello)",
	} {
		got := r.Text(text)
		for _, leak := range []string{password, "hello", "MHcCAQEE", url.QueryEscape(password),
			base64.StdEncoding.EncodeToString([]byte(password))} {
			if strings.Contains(got, leak) {
				t.Errorf("%q became %q", text, got)
			}
		}
	}
	if got := r.Text("othello, hellos and hello_world"); got != "othello, hellos and hello_world" {
		t.Errorf("a short value is replaced as a word only: %s", got)
	}
	all := strings.Join(r.Summary(), "\n")
	if !strings.Contains(all, "Secret shop-root/password") || strings.Contains(all, password) {
		t.Errorf("%s", all)
	}
}

// TestPatterns: what looks like a secret goes, and what only sounds like one stays.
func TestPatterns(t *testing.T) {
	r := New()
	for text, want := range map[string]string{
		"CREATE USER 'a'@'%' IDENTIFIED BY 'top''secret' REQUIRE SSL":                                               "CREATE USER 'a'@'%' IDENTIFIED BY '[REDACTED]' REQUIRE SSL",
		"IDENTIFIED VIA mysql_native_password USING PASSWORD('one') OR mysql_native_password USING PASSWORD('two')": "IDENTIFIED VIA mysql_native_password USING PASSWORD('[REDACTED]') OR mysql_native_password USING PASSWORD('[REDACTED]')",
		"USING '*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19'":                                                         "USING '[REDACTED]'",
		"SET PASSWORD = PASSWORD('x')":                                                                              "SET PASSWORD = [REDACTED]'[REDACTED]')",
		"mysql://app:top@shop-primary:3306/app":                                                                     "mysql://app:[REDACTED]@shop-primary:3306/app",
		"app:top@tcp(shop-primary:3306)/app":                                                                        "app:[REDACTED]@tcp(shop-primary:3306)/app",
		`{"rootPassword": "top", "other": 1}`:                                                                       `{"rootPassword": [REDACTED], "other": 1}`,
		"MYSQL_PWD=top mariadb -u root":                                                                             "MYSQL_PWD=[REDACTED] mariadb -u root",
		"wsrep_sst_auth=mysql:top":                                                                                  "wsrep_sst_auth=[REDACTED]",
		"mariadb --password=top --user=root":                                                                        "mariadb --password=[REDACTED] --user=root",
		"Authorization: Bearer abc.def":                                                                             "Authorization: Bearer [REDACTED]",
		"aws_secret_access_key = wJalrXUtnFEMI":                                                                     "aws_secret_access_key = [REDACTED]",
		"AKIAIOSFODNN7EXAMPLE":                                                                                      "[REDACTED]",
		"AGE-SECRET-KEY-1QQPQYQJZ0VQ":                                                                               "[REDACTED]",
		"GET /b?X-Amz-Signature=abcdef&x=1":                                                                         "GET /b?X-Amz-Signature=[REDACTED]&x=1",
		"a " + key +
			" b": "a [REDACTED]\n b",
		"cut off: " +
			key[:60]: "cut off: [REDACTED]",
		"automountServiceAccountToken: false":                  "automountServiceAccountToken: false",
		"secretName: shop-tls":                                 "secretName: shop-tls",
		"passwordSecretRef:\n  name: app-password":             "passwordSecretRef:\n  name: app-password",
		"Access denied for user 'a'@'b' (using password: YES)": "Access denied for user 'a'@'b' (using password: YES)",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----": "-----BEGIN CERTIFICATE-----\nMIIB\n-----END " +
			"CERTIFICATE-----",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestObject(t *testing.T) {
	text := `
metadata:
  annotations: {kubectl.kubernetes.io/last-applied-configuration: "with a password in it", other: stays}
  managedFields: [{manager: x}]
spec:
  containers:
  - env:
    - {name: DB_PASSWORD, value: top}
    - {name: MODE, value: fast}
    - {name: FROM, valueFrom: {secretKeyRef: {name: a, key: b}}}
`
	o := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	New().Object(o)
	got, _ := yaml.Marshal(o)
	for _, leak := range []string{"top", "with a password", "managedFields"} {
		if strings.Contains(string(got), leak) {
			t.Errorf("%s is in\n%s", leak, got)
		}
	}
	for _, stays := range []string{"fast", "other: stays", "name: a"} {
		if !strings.Contains(string(got), stays) {
			t.Errorf("%s is not in\n%s", stays, got)
		}
	}
}
