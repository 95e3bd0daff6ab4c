package manifest

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	good := `{"format":1,"id":"b1","compression":"Zstd","parts":[{"size":1,"sha256":"x"}]}`
	for text, says := range map[string]string{
		good: "",
		strings.Replace(good, `"format":1`, `"format":2`, 1): "later release",
		strings.Replace(good, "Zstd", "Lzma", 1):             "compression",
		strings.Replace(good, "b1", "", 1):                   "damaged",
		good[:20]:                                            "damaged",
		"{}":                                                 "damaged",
	} {
		if _, err := Parse([]byte(text)); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestLater(t *testing.T) {
	for _, c := range []struct {
		backup, image string
		want          bool
	}{
		{"11.8.6-MariaDB", "11.8.2-MariaDB", false}, {"11.8.6-MariaDB", "10.11.8-MariaDB", true}, {"11.8.6-MariaDB", "12.0.1-MariaDB", false},
		{"12.1.0", "11.8.6", true}, {"", "11.8.6", false}, {"11.8", "nonsense", false},
	} {
		if got := Later(c.backup, c.image); got != c.want {
			t.Errorf("%s on %s: %v", c.backup, c.image, got)
		}
	}
}

func TestDir(t *testing.T) {
	if got := Dir("demo", "shop", "0123abcd-4567"); got != "demo/shop/0123abcd" {
		t.Error(got)
	}
}
