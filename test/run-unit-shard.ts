import { writeFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import type { Durations } from './test-files.ts'

/** One process of `make unit`: runs the files named after the file that the seconds of each are written to. */
const root = resolve(import.meta.dirname, '..')
const [durationsFile = '', ...files] = process.argv.slice(2)
const durations: Durations = {}
const tests = run({ files: files.map(file => resolve(root, file)), isolation: 'none' })

tests.on('test:fail', () => {
  process.exitCode = 1
})
tests.on('test:complete', ({ nesting, file, details }) => {
  if (nesting !== 0 || file === undefined) return
  const name = relative(root, file)
  durations[name] = (durations[name] ?? 0) + details.duration_ms / 1000
})
for await (const text of tests.compose(spec)) process.stdout.write(text)
writeFileSync(durationsFile, JSON.stringify(durations))
