package transport

import (
	"regexp"
	"strings"
	"testing"
)

func TestNewWireGuardFiles(t *testing.T) {
	files, err := NewWireGuardFiles()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		WireGuardServer: `^private_key=([0-9a-f]{64})\nlisten_port=51820\npublic_key=([0-9a-f]{64})\nallowed_ip=10\.91\.0\.2/32\n$`,
		WireGuardClient: `^private_key=([0-9a-f]{64})\npublic_key=([0-9a-f]{64})\nallowed_ip=10\.91\.0\.1/32\n$`,
	} {
		if !regexp.MustCompile(want).Match(files[name]) {
			t.Errorf("%s:\n%s", name, files[name])
		}
	}
	key := func(name string) string { return strings.SplitN(string(files[name]), "\n", 2)[0] }
	again, err := NewWireGuardFiles()
	if err != nil || len(files) != 2 || key(WireGuardServer) == key(WireGuardClient) ||
		string(again[WireGuardServer]) == string(files[WireGuardServer]) {
		t.Errorf("a key is used twice: %v", err)
	}
}
