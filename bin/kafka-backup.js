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
  // Otherwise the space for new objects grows with the number of partitions: by 100 MB for 5,000 of them, mostly empty. What it
  // begins with is so small that every object which lives for a moment is kept, so that it grows to a few MB first.
  growNewSpace(4 << 20)
  v8.setFlagsFromString('--semi-space-growth-factor=1')
  // Otherwise a heap of 40 MB grows to 120 MB before it is collected: a restore of 10,000 schemas takes 240 MB, not 175.
  v8.setFlagsFromString('--heap-growing-percent=50')
  await import('../dist/kafka-backup.js')
}

/** The space grows when objects survive in it. */
function growNewSpace(bytes) {
  const size = () =>
    v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? bytes
  for (let round = 0; round < 20 && size() < bytes; round++) Array.from({ length: 20_000 }, () => ({ round }))
}
