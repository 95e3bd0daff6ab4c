package accounts

import "testing"

// FuzzGrants: whatever a server shows as grants is read, or refused, and read again as the same.
func FuzzGrants(f *testing.F) {
	for _, line := range []string{
		"GRANT SELECT, INSERT (`a`, `b`) ON `shop`.* TO `app`@`%`", "GRANT `reader` TO `app`@`%`",
		"GRANT PROXY ON ''@'%' TO 'root'@'localhost'",
		"GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION",
		"GRANT EXECUTE ON PROCEDURE `a`.`b` TO `x`@`y`", "GRANT `", "",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		once, err := parseGrants([]string{line})
		if err != nil {
			return
		}
		twice, err := parseGrants([]string{line, line})
		if err != nil || len(twice.rights) != len(once.rights) || len(twice.roles) != 2*len(once.roles) {
			t.Errorf("%q is %v once and %v twice, %v", line, once, twice, err)
		}
	})
}

// FuzzLogin: whatever mysql.global_priv holds is read, or refused.
func FuzzLogin(f *testing.F) {
	f.Add(`{"access":0,"plugin":"ed25519","authentication_string":"x","auth_or":[{}],"ssl_type":3,"x509_subject":"/CN=a"}`)
	f.Add(`{`)
	f.Fuzz(func(t *testing.T, priv string) {
		if l, err := parseLogin(priv); err == nil && len(l.Accepts) > len(priv) {
			t.Errorf("%q gives %d ways to log in", priv, len(l.Accepts))
		}
	})
}
