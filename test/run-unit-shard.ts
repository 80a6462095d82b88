import { writeFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { cpuSecondsOf } from './cpu-seconds.ts'
import type { Durations } from './test-files.ts'

/**
 * One process of `make unit`: runs the files named after the file that the CPU seconds of each are written to. A file
 * waits for nothing else, and these are the same on a busy machine.
 */
const root = resolve(import.meta.dirname, '..')
const [durationsFile = '', ...files] = process.argv.slice(2)
const durations: Durations = {}
const tests = run({ files: files.map(file => resolve(root, file)), isolation: 'none' })

tests.on('test:fail', () => {
  process.exitCode = 1
})
let counted = 0
// All files are loaded before the first test begins.
tests.once('test:dequeue', () => {
  counted = cpuSecondsOf('self')
})
tests.on('test:complete', ({ nesting, file }) => {
  if (nesting !== 0 || file === undefined) return
  const name = relative(root, file)
  const now = cpuSecondsOf('self')
  durations[name] = (durations[name] ?? 0) + now - counted
  counted = now
})
for await (const text of tests.compose(spec)) process.stdout.write(text)
writeFileSync(durationsFile, JSON.stringify(durations))
