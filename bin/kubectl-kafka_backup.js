#!/usr/bin/env node
// kubectl runs this program for `kubectl kafka-backup`, which is `kafka-backup kubectl`.
process.argv.splice(2, 0, 'kubectl')
await import('./kafka-backup.js')
