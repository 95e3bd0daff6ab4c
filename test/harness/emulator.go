package harness

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// emulatorClient is a client of this machine, which reaches the pod of an object store and does not know its name, and
// the CA by which it verifies the pod.
func emulatorClient(ctx context.Context, k *Kube, namespace, secret, ip string) (plain *http.Client, ca []byte,
	err error) {
	pair := &corev1.Secret{}
	if err := k.Get(ctx, client.ObjectKey{Namespace: namespace, Name: secret}, pair); err != nil {
		return nil, nil, err
	}
	ca = pair.Data["tls.crt"]
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots,
		MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(ip, fmt.Sprint(StorePort)))
		}}}, ca, nil
}
