package task

const (
	// CopiedPort is where the Job that copies another server reports Copied, at PathCopied.
	CopiedPort = 8445
	// PathCopied is the path there.
	PathCopied = "/copied"
	// CopiedDir has the pair that it shows there.
	CopiedDir = "/etc/backup/copied"
)

// Copied is how far such a Job is.
type Copied struct {
	// Rows are copied, of about as many as Expected: the source's estimate. Bytes are those of their values.
	Rows     int64 `json:"rows"`
	Expected int64 `json:"expected"`
	Bytes    int64 `json:"bytes"`
	// Tables to copy, and how many of them have been compared with the source.
	Tables   int `json:"tables"`
	Compared int `json:"compared"`
	// RestSeconds is how long the other rows take at this rate, 0 while that is not known.
	RestSeconds int64 `json:"restSeconds,omitempty"`
}
