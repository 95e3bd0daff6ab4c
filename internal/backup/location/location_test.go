package location

import (
	"strings"
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

func s3(endpoint, region, bucket, prefix string) v1alpha1.GaleraBackupStoreSpec {
	return v1alpha1.GaleraBackupStoreSpec{S3: &v1alpha1.S3Store{Endpoint: endpoint, Region: region, Bucket: bucket,
		Prefix: prefix}}
}

func gcs(endpoint string) v1alpha1.GaleraBackupStoreSpec {
	return v1alpha1.GaleraBackupStoreSpec{GCS: &v1alpha1.GCSStore{Endpoint: endpoint, Bucket: "b"}}
}

func azure(endpoint, account, container string) v1alpha1.GaleraBackupStoreSpec {
	return v1alpha1.GaleraBackupStoreSpec{Azure: &v1alpha1.AzureStore{Endpoint: endpoint, Account: account,
		Container: container}}
}

func volume(claim string) v1alpha1.GaleraBackupStoreSpec {
	return v1alpha1.GaleraBackupStoreSpec{Volume: &v1alpha1.VolumeStore{ClaimName: claim}}
}

// TestChanged: a store that names another place is found out, and one that spells its place differently is not.
func TestChanged(t *testing.T) {
	for name, c := range map[string]struct {
		was, is v1alpha1.GaleraBackupStoreSpec
		changed bool
	}{
		"the same":           {s3("https://minio:9000", "", "b", "p"), s3("https://minio:9000", "", "b", "p"), false},
		"a slash at the end": {s3("https://minio:9000", "", "b", ""), s3("https://minio:9000/", "", "b", ""), false},
		"the port of https":  {s3("https://minio", "", "b", ""), s3("https://minio:443", "", "b", ""), false},
		"the port of http":   {s3("http://minio", "", "b", ""), s3("http://minio:80/", "", "b", ""), false},
		"case, and a dot": {s3("https://MinIO.example", "", "b", ""),
			s3("https://minio.example.", "", "b", ""), false},
		"an address of IPv6":      {s3("https://[FD00::1]", "", "b", ""), s3("https://[fd00::1]:443/", "", "b", ""), false},
		"another port":            {s3("https://minio:9000", "", "b", ""), s3("https://minio:9001", "", "b", ""), true},
		"the port of http, https": {s3("https://minio", "", "b", ""), s3("https://minio:80", "", "b", ""), true},
		"no TLS":                  {s3("https://minio", "", "b", ""), s3("http://minio", "", "b", ""), true},
		"another host":            {s3("https://minio", "", "b", ""), s3("https://other", "", "b", ""), true},
		"another bucket":          {s3("https://minio", "", "b", ""), s3("https://minio", "", "c", ""), true},
		"another prefix":          {s3("https://minio", "", "b", "p"), s3("https://minio", "", "b", "q"), true},
		"a bucket, or a prefix":   {s3("https://minio", "", "abc", ""), s3("https://minio", "", "a", "bc"), true},
		"Amazon's, by its name": {s3("", "eu-central-1", "b", ""),
			s3("https://s3.eu-central-1.amazonaws.com/", "", "b", ""), false},
		"another region": {s3("", "eu-central-1", "b", ""), s3("", "eu-west-1", "b", ""), false},
		"China":          {s3("", "us-east-1", "b", ""), s3("", "cn-north-1", "b", ""), true},
		"China, by its name": {s3("", "cn-north-1", "b", ""),
			s3("https://s3.cn-north-1.amazonaws.com.cn", "", "b", ""), false},
		"the US government":     {s3("", "us-east-1", "b", ""), s3("", "us-gov-west-1", "b", ""), true},
		"not Amazon's any more": {s3("", "us-east-1", "b", ""), s3("https://minio", "us-east-1", "b", ""), true},
		"a host like Amazon's": {s3("", "us-east-1", "b", ""),
			s3("https://s3.amazonaws.com.example", "", "b", ""), true},
		"Google's, by its name": {gcs(""), gcs("https://storage.googleapis.com/"), false},
		"not Google's any more": {gcs(""), gcs("https://fake:4443"), true},
		"another kind":          {s3("", "us-east-1", "b", ""), gcs(""), true},
		"Azure's, by its name": {azure("", "acc", "con"),
			azure("https://acc.blob.core.windows.net/", "acc", "con"), false},
		"another account": {azure("", "acc", "con"), azure("", "abb", "con"), true},
		"another container": {azure("https://azurite/acc", "acc", "con"),
			azure("https://azurite/acc", "acc", "c"), true},
		"an account in the path": {azure("https://azurite/acc", "acc", "con"),
			azure("https://azurite/acc/", "acc", "con"), false},
		"another path": {azure("https://azurite/acc", "acc", "con"),
			azure("https://azurite", "acc", "con"), true},
		"the same claim": {volume("a"), volume("a"), false},
		"another claim":  {volume("a"), volume("b"), true},
	} {
		was, is := &v1alpha1.GaleraBackupStore{Spec: c.was}, &v1alpha1.GaleraBackupStore{Spec: c.is}
		recorded := Parse(Annotation(was))
		if recorded == nil || *recorded != Of(was) {
			t.Fatalf("%s: %+v", name, recorded)
		}
		why := Changed(recorded, is)
		if (why != "") != c.changed || c.changed && (!strings.Contains(why, Describe(Of(is))) ||
			!strings.Contains(why, Describe(*recorded)) || Describe(Of(is)) == Describe(*recorded)) {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// TestUnknown: what no release has recorded has not changed.
func TestUnknown(t *testing.T) {
	s := &v1alpha1.GaleraBackupStore{Spec: volume("a")}
	if Changed(nil, s) != "" || Changed(new(Of(s)), nil) != "" {
		t.Error("a location that is not known has changed")
	}
	for _, text := range []string{"", "{}", "a place"} {
		if l := Parse(text); l != nil {
			t.Errorf("%q: %+v", text, l)
		}
	}
}
