package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestNoteFits: what is noted has to fit into the status, however long the rest of the policy is, and the rest stays whosever it is.
func TestNoteFits(t *testing.T) {
	own := v1alpha1.TLSSpec{Replication: "Required", StateTransfer: "Disabled", Clients: "Preferred", MinVersion: "1.2", Cipher: "TLS_AES_256_GCM_SHA384"}
	own.Certificate.PrivateKey = v1alpha1.PrivateKeySpec{Algorithm: "RSA", Size: 4096}
	for i := range 32 {
		own.ClientCertificates = append(own.ClientCertificates, v1alpha1.ClientCertificateSpec{Name: fmt.Sprint("c", i), CommonName: strings.Repeat("s", 64), SecretName: strings.Repeat("s", 253)})
	}
	note := Note(own)
	if text, err := json.Marshal(note); err != nil || len(text) > 4096 {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	c := &v1alpha1.GaleraCluster{}
	c.Spec.TLS = own
	c.Spec.TLS.Replication, c.Spec.TLS.StateTransfer, c.Spec.TLS.MinVersion = "Disabled", "", "1.3"
	c.Spec.TLS.Certificate.PrivateKey = v1alpha1.PrivateKeySpec{Algorithm: "ECDSA", Size: 256}
	c.Spec.TLS.ClientCertificates = own.ClientCertificates[:3] // somebody has removed the others meanwhile
	b := &v1alpha1.GaleraBenchmark{}
	b.Status.RestoreTLS = note
	got := Own(b, c)
	if got.Replication != "Required" || got.StateTransfer != "Disabled" || got.Clients != "Preferred" || got.MinVersion != "1.2" || got.Cipher != own.Cipher ||
		got.Certificate.PrivateKey != own.Certificate.PrivateKey {
		t.Errorf("%+v", got)
	}
	if len(got.ClientCertificates) != 3 {
		t.Errorf("what was changed meanwhile came back: %d", len(got.ClientCertificates))
	}
}
