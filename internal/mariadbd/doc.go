// Package mariadbd runs mariadbd and its tools: start, stop, position recovery and the first
// filling of a data directory. An Image describes which programs the database image has, and of which version.
package mariadbd
