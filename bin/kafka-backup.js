#!/usr/bin/env node
import module from 'node:module'
import v8 from 'node:v8'

const [major] = process.versions.node.split('.')

if (Number(major) < 24) {
  process.stderr.write(
    `error: kafka-backup needs Node.js 24 or later; this is ${process.version} (${process.execPath})\n`,
  )
  process.exitCode = 1
} else {
  module.enableCompileCache()
  // Otherwise the space for new objects grows with the number of partitions: by 100 MB for 5,000 of them, mostly empty.
  v8.setFlagsFromString('--semi-space-growth-factor=1')
  // Otherwise a small heap grows several times over before it is collected; `BENCH_PART=registry make bench` measures it.
  v8.setFlagsFromString('--heap-growing-percent=50')
  module.createRequire(import.meta.url)('../dist/kafka-backup.cjs')
}
