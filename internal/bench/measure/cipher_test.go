package measure

import (
	"os/exec"
	"reflect"
	"testing"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

func TestSpeeds(t *testing.T) {
	got, err := speeds(
		"Doing aes-128-gcm ops for 1s on 16 size " +
			"blocks\n+H:16:64:256:1024:8192:16384\n+F:25:AES-128-GCM:54000000.00:218000000.00:792000000.00:2242000000.00:5064000000.00:5671000000.00\n")
	want := &result.CipherResult{Speeds: []result.Speed{{Record: 16, Megabytes: 54}, {Record: 64, Megabytes: 218},
		{Record: 256, Megabytes: 792},
		{Record: 1024, Megabytes: 2242}, {Record: 8192, Megabytes: 5064}, {Record: 16384, Megabytes: 5671}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	for name, text := range map[string]string{
		"nothing": "", "no rates": "+H:16:64\n", "no sizes": "+F:25:AES:1.0:2.0\n",
		"fewer rates": "+H:16:64\n+F:25:AES:1.0\n", "no number": "+H:16\n+F:25:AES:fast\n",
	} {
		if got, err := speeds(text); err == nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// TestCipher asks the real program: with the AES instructions hidden it must be slower.
func TestCipher(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("without openssl")
	}
	r := &runner{}
	r.plan.Cipher = &result.Cipher{Name: "TLS_AES_128_GCM_SHA256", Seconds: 1}
	if err := r.cipher(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(r.out.Cipher.Speeds) != 6 || r.out.Environment.OpenSSL == "" || r.out.Client.CPUSeconds == 0 {
		t.Errorf("got %+v", r.out)
	}
	r.plan.Cipher.Name = "none"
	if err := r.cipher(t.Context()); err == nil {
		t.Error("a cipher OpenSSL has not")
	}
}
