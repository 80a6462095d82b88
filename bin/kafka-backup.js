#!/usr/bin/env node
import module from 'node:module'

const [major] = process.versions.node.split('.')

if (Number(major) < 24) {
  process.stderr.write(
    `error: kafka-backup needs Node.js 24 or later; this is ${process.version} (${process.execPath})\n`,
  )
  process.exitCode = 1
} else {
  module.enableCompileCache()
  await import('../dist/kafka-backup.js')
}
