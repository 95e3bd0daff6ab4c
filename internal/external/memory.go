package external

// How much memory a copy takes (TestMemoryOfARow).
const (
	// perByte is what a byte of a large row takes at most: as it was read, in a buffer that has grown; as a statement, in
	// which it may take two bytes; and as the driver sends that. baseMemory and connectionMemory are what else is taken.
	perByte          = 5.5
	baseMemory       = 64 << 20
	connectionMemory = 8 << 20
	// serverPerByte is what it takes in the target's server: as it was received, as the text that is parsed, twice, and as
	// a value, twice. The others are what that server takes besides its buffer pool.
	serverPerByte    = 8.5
	serverBase       = 112 << 20
	serverConnection = 16 << 20
	// sourcePerByte is what it takes in a source's server: as a value, and as it is sent.
	sourcePerByte = 3
	// share is the part of a container's limit that is counted on, as in GOMEMLIMIT (job.limitMemory).
	share = 0.9
	// aside is the part of the memory for rows, one in so many, that is kept for rows that wait for nothing.
	aside = 4
	// leastRow is the row that is always copied.
	leastRow = insertBytes
	// Rows get most of what is free, for one that has none ends the copy, and a small pool makes it slower only where the
	// secondary indexes of a table are larger: rows come in the order of the primary key. The pool has leastPool or one
	// part in poolParts, whichever is more, and all that is left once rows have plenty.
	leastPool = 64 << 20
	poolParts = 4
	// A source of its own does nothing but send its rows, one by one: it needs the pool less.
	plenty       = 256 << 20
	plentySource = 512 << 20
)

// Memory is what a copy may take.
type Memory struct {
	// Limit is that of the container; 0 for no bound.
	Limit int64
	// Shared reports whether a server runs in the same container: the target's, or that of the source with FromSource.
	Shared, FromSource bool
	// Pool is the buffer pool that such a server is configured with; 0 where that is not known.
	Pool int64
}

// BufferPool is that of a server in the same container: as it is configured, or as large as the memory allows.
func (m Memory) BufferPool(connections int) int64 {
	if m.Limit == 0 {
		return m.Pool
	}
	r := budget{Memory: m, connections: int64(max(1, connections))}
	free := r.free()
	return min(m.Pool, max(leastPool, free/poolParts, free-int64(float64(r.plenty())*r.perByte())))
}

// budget is the memory that a copy has for large rows.
type budget struct {
	Memory
	// pool is the buffer pool of a server that runs in the same container.
	pool, connections int64
}

// fixed is what is taken whatever rows there are, of this process and in all, besides the buffer pool.
func (r budget) fixed() (own, all int64) {
	own = baseMemory + r.connections*connectionMemory
	if r.Shared {
		return own, own + serverBase + r.connections*serverConnection
	}
	return own, own
}

// free is what is left for rows, and for the buffer pool.
func (r budget) free() int64 {
	_, fixed := r.fixed()
	return int64(float64(r.Limit)*share) - fixed
}

func (r budget) perByte() float64 {
	switch {
	case r.Shared && r.FromSource:
		return perByte + sourcePerByte
	case r.Shared:
		return perByte + serverPerByte
	}
	return perByte
}

// plenty is how many bytes of rows are enough: what more memory there is goes to the buffer pool.
func (r budget) plenty() int64 {
	if r.FromSource {
		return plentySource
	}
	return plenty
}

// rows is how many bytes the rows may have that are in memory at the same time.
func (r budget) rows() int64 {
	return max(0, int64(float64(r.free()-r.pool)/r.perByte()))
}

// bounds returns how large the rows may be that each connection reads at any time, and how large those are in all that
// wait until there is memory for them; both are 0 where nothing is bounded.
func (r budget) bounds() (each, waiting int64) {
	if r.Limit == 0 {
		return 0, 0
	}
	all := r.rows()
	if r.connections == 1 {
		each = max(leastRow, all)
		return each, each
	}
	each = max(leastRow, all/(aside*r.connections))
	return each, max(each, all-(r.connections-1)*each, min(all, r.small()))
}

// small is the memory for rows up to which nothing of it is kept aside: a connection has memory for the least row.
func (r budget) small() int64 { return aside * r.connections * leastRow }

// enoughFor returns the container's limit that a row of a size needs.
func (r budget) enoughFor(row int64) int64 {
	n := r.connections
	all := row
	if row > r.small() {
		all = row * aside * n / ((aside-1)*n + 1)
	}
	need := int64(float64(all) * r.perByte())
	if pool := max(r.pool, r.Pool); all > r.plenty() {
		need += pool
	} else if pool > 0 { // with more memory it is larger, too
		need = min(need+pool, max(need+leastPool, need*poolParts/(poolParts-1)))
	}
	_, fixed := r.fixed()
	return int64(float64(need+fixed) / share)
}

// own is what this process may take.
func (r budget) own() int64 {
	own, _ := r.fixed()
	return own + int64(float64(max(r.rows(), r.connections*leastRow))*perByte)
}
