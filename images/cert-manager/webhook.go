package main

import (
	"context"
	"os"

	"github.com/cert-manager/cert-manager/internal/webhook"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/webhook/options"
)

// webhookName is the name of the webhook's Service; the Secret with its CA has it, too, with -ca at the end.
const webhookName = "cert-manager-webhook"

// runWebhook serves admission with the arguments that cert-manager's chart gives its webhook: a certificate
// from a CA that it makes and rotates by itself, and no metrics.
func runWebhook(ctx context.Context) error {
	config, err := options.NewWebhookConfiguration()
	if err != nil {
		return err
	}
	namespace := os.Getenv("POD_NAMESPACE")
	config.SecurePort = 10250
	config.MetricsListenAddress = "0"
	config.TLSConfig.Dynamic.SecretNamespace = namespace
	config.TLSConfig.Dynamic.SecretName = webhookName + "-ca"
	config.TLSConfig.Dynamic.DNSNames = []string{webhookName, webhookName + "." + namespace,
		webhookName + "." + namespace + ".svc"}
	server, err := webhook.NewCertManagerWebhookServer(logf.Log, *config)
	if err != nil {
		return err
	}
	return server.Run(ctx)
}
