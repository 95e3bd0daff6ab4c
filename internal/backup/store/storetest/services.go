package storetest

import (
	"crypto/rand"
	"encoding/base64"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// Account is the one that Azurite has.
const Account = "shop"

// noBundle takes away a machine's own CAs, for good: tests run side by side.
var noBundle = sync.OnceFunc(func() { _ = os.Unsetenv("AWS_CA_BUNDLE") })

func (s *Service) s3(t *testing.T) {
	t.Helper()
	noBundle()
	access, secret := rand.Text(), rand.Text()
	s.Region, s.PathStyle, s.Refusal = "us-east-1", true, "SignatureDoesNotMatch"
	s.Good = map[string]string{task.AccessKeyID: access, task.SecretAccessKey: secret}
	s.Wrong = map[string]string{task.SecretAccessKey: rand.Text()}
	s.program(t, []string{"ROOT_ACCESS_KEY=" + access, "ROOT_SECRET_KEY=" + secret}, "versitygw",
		func(port, cert, key, dir string) []string {
			return []string{"--port", "localhost:" + port, "--cert", cert, "--key", key, "--region", "us-east-1", "posix", dir}
		})
}

func (s *Service) azure(t *testing.T) {
	t.Helper()
	key := base64.StdEncoding.EncodeToString([]byte(rand.Text()))
	s.Account, s.Refusal = Account, "AuthorizationFailure"
	s.Good = map[string]string{task.AccountKey: key}
	s.Wrong = map[string]string{task.AccountKey: base64.StdEncoding.EncodeToString([]byte(rand.Text()))}
	s.program(t, []string{"AZURITE_ACCOUNTS=" + Account + ":" + key}, "azurite-blob",
		func(port, cert, key, dir string) []string {
			return []string{"--blobHost", "localhost", "--blobPort", port, "--cert", cert, "--key", key, "--location", dir,
				"--silent", "--disableTelemetry", "--skipApiVersionCheck"}
		})
	s.Endpoint += "/" + Account
	client := s.Container(t)
	if _, err := client.Create(t.Context(), nil); err != nil && !strings.Contains(err.Error(), "ContainerAlreadyExists") {
		t.Fatal(err)
	}
}

// Container is Azurite's, for what a store does not do itself.
func (s *Service) Container(t *testing.T) *container.Client {
	t.Helper()
	key, err := container.NewSharedKeyCredential(Account, s.Good[task.AccountKey])
	if err != nil {
		t.Fatal(err)
	}
	client, err := container.NewClientWithSharedKeyCredential(s.Endpoint+"/"+Bucket, key,
		&container.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: s.Client()}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}
