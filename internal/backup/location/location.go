// Package location tells the places apart that one GaleraBackupStore names over time: an endpoint can be changed, and a
// store can be created again under its name. It is pure.
package location

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"path"
	"strings"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// googleEndpoint is what a store of Google's has by default.
const googleEndpoint = "https://storage.googleapis.com"

// Of is the location that a store names now. Spellings of one place yield one location.
func Of(s *v1alpha1.GaleraBackupStore) v1alpha1.StoreLocation {
	switch spec := s.Spec; {
	case spec.S3 != nil:
		b := spec.S3
		return v1alpha1.StoreLocation{Kind: v1alpha1.StoreS3, Endpoint: amazon(b.Endpoint, b.Region), Bucket: b.Bucket,
			Prefix: b.Prefix}
	case spec.GCS != nil:
		b := spec.GCS
		return v1alpha1.StoreLocation{Kind: v1alpha1.StoreGCS, Endpoint: unless(googleEndpoint, b.Endpoint),
			Bucket: b.Bucket, Prefix: b.Prefix}
	case spec.Azure != nil:
		b := spec.Azure
		return v1alpha1.StoreLocation{Kind: v1alpha1.StoreAzure,
			Endpoint: unless("https://"+b.Account+".blob.core.windows.net", b.Endpoint),
			Bucket:   path.Join(b.Account, b.Container), Prefix: b.Prefix}
	case spec.Volume != nil:
		return v1alpha1.StoreLocation{Kind: v1alpha1.StoreVolume, Claim: spec.Volume.ClaimName}
	}
	return v1alpha1.StoreLocation{}
}

// amazon is the endpoint of a bucket of S3, "" for Amazon's: a bucket's name is one bucket in all of its regions, but
// those of China and of the US government.
func amazon(endpoint, region string) string {
	if endpoint == "" {
		endpoint = "https://s3." + cmp.Or(region, "us-east-1") + ".amazonaws.com"
		if strings.HasPrefix(region, "cn-") {
			endpoint += ".cn"
		}
	}
	endpoint = normal(endpoint)
	if strings.HasSuffix(endpoint, ".amazonaws.com") && !strings.Contains(endpoint, ".us-gov-") {
		return ""
	}
	return endpoint
}

// unless is an endpoint, "" for the one that a service has by default.
func unless(byDefault, endpoint string) string {
	if endpoint = normal(endpoint); endpoint == byDefault {
		return ""
	}
	return endpoint
}

// normal is one spelling of an endpoint.
func normal(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return strings.TrimRight(strings.ToLower(endpoint), "/")
	}
	scheme, host, port := strings.ToLower(u.Scheme), strings.TrimRight(strings.ToLower(u.Hostname()), "."), u.Port()
	switch {
	case port != "" && port != map[string]string{"http": "80", "https": "443"}[scheme]:
		host = net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		host = "[" + host + "]"
	}
	return scheme + "://" + host + strings.TrimRight(u.Path, "/")
}

// Changed explains that a store names another location than the one where data were written, "" if it does not. A
// location that is not known, because an earlier release has written them, is none that has changed.
func Changed(of *v1alpha1.StoreLocation, s *v1alpha1.GaleraBackupStore) string {
	if of == nil || s == nil || *of == Of(s) {
		return ""
	}
	return fmt.Sprintf("the GaleraBackupStore %q names %s now, and the backup lies in %s", s.Name, Describe(Of(s)),
		Describe(*of))
}

// Describe names a location.
func Describe(l v1alpha1.StoreLocation) string {
	if l.Kind == v1alpha1.StoreVolume {
		return "the claim " + l.Claim
	}
	out := l.Kind + " " + path.Join(l.Bucket, l.Prefix)
	if l.Endpoint != "" {
		out += " at " + l.Endpoint
	}
	return out
}

// Annotation is the value of AnnotationStoreLocation on an object that uses a store.
func Annotation(s *v1alpha1.GaleraBackupStore) string { return Text(Of(s)) }

// Text is one spelling of a location.
func Text(l v1alpha1.StoreLocation) string {
	text, _ := json.Marshal(l) // strings only
	return string(text)
}

// Parse reads such a value, nil for none.
func Parse(annotation string) *v1alpha1.StoreLocation {
	l := &v1alpha1.StoreLocation{}
	if json.Unmarshal([]byte(annotation), l) != nil || l.Kind == "" {
		return nil
	}
	return l
}
