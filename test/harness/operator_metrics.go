package harness

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What config/ names the operator's metrics by.
const (
	OperatorMetricsPort   = 8443
	operatorMetricsSecret = "galera-operator-metrics"
	operatorMetricsName   = "galera-operator.metrics"
	operatorMetricsReader = "galera-operator-metrics-reader"
	metricsAccount        = "galera-test-metrics"
)

// scrape scrapes a pod of the operator, with a token that may read its metrics.
func (k Operator) scrape(ctx context.Context, p *corev1.Pod) (Scrape, error) {
	token, err := k.metricsToken(ctx)
	if err != nil {
		return Scrape{}, fmt.Errorf("a token for the operator's metrics: %w", err)
	}
	return k.ScrapeAs(ctx, p, token)
}

// ScrapeAs scrapes a pod of the operator with a token.
func (k Operator) ScrapeAs(ctx context.Context, p *corev1.Pod, token string) (Scrape, error) {
	s := &corev1.Secret{}
	if err := k.kube.Get(ctx, client.ObjectKey{Namespace: OperatorNamespace, Name: operatorMetricsSecret}, s); err != nil {
		return Scrape{}, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(s.Data["ca.crt"]) {
		return Scrape{}, fmt.Errorf("the Secret %s holds no CA", operatorMetricsSecret)
	}
	transport := &http.Transport{DisableKeepAlives: true, TLSHandshakeTimeout: 5 * time.Second,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: operatorMetricsName}}
	at := url.URL{Scheme: "https", Host: net.JoinHostPort(p.Status.PodIP, fmt.Sprint(OperatorMetricsPort)),
		Path: "/metrics"}
	return scrapeFrom(ctx, &http.Client{Transport: transport}, at, token)
}

// metricsToken makes a token of an account that has the role for the operator's metrics.
func (k Operator) metricsToken(ctx context.Context) (string, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: OperatorNamespace, Name: metricsAccount}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: metricsAccount},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: operatorMetricsReader},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: OperatorNamespace, Name: metricsAccount}}}
	for _, o := range []client.Object{account, binding} {
		if err := k.kube.Create(ctx, o); client.IgnoreAlreadyExists(err) != nil {
			return "", err
		}
	}
	return k.Token(ctx, metricsAccount)
}

// Token makes a token of a ServiceAccount of the operator's namespace.
func (k Operator) Token(ctx context.Context, account string) (string, error) {
	of := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: OperatorNamespace, Name: account}}
	request := &authenticationv1.TokenRequest{}
	if err := k.kube.SubResource("token").Create(ctx, of, request); err != nil {
		return "", err
	}
	return request.Status.Token, nil
}

// requests adds up the operator's own count of its requests to the API server.
func (k Operator) requests(ctx context.Context, p *corev1.Pod) (total float64, err error) {
	s, err := k.scrape(ctx, p)
	if err != nil {
		return 0, fmt.Errorf("the operator's metrics: %w", err)
	}
	for _, m := range s.Families[requestsMetric].GetMetric() {
		total += m.GetCounter().GetValue()
	}
	if total == 0 {
		return 0, fmt.Errorf("no metric %s", requestsMetric)
	}
	return total, nil
}
