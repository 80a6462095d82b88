import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fuzz, inputsOf, MAX_GROWTH_BYTES } from './fuzz.ts'
import { type FuzzResults, formatResults, resultsFile } from './report.ts'
import { loadTargets } from './targets.ts'

/**
 * A part of `make soak`: many inputs for every reader, FUZZ_INPUTS for each (63500, a million in all) and from FUZZ_SEED (1) on. Writes the
 * figures of docs/reliability.md, and fails where an input was neither read nor refused.
 */
const seed = Number(process.env.FUZZ_SEED ?? 1)
const inputs = Number(process.env.FUZZ_INPUTS ?? 63_500)
const results: FuzzResults = { date: new Date().toISOString().slice(0, 10), seed, inputs, readers: [] }
for (const target of await loadTargets()) {
  const count = inputsOf(target, inputs)
  const before = process.memoryUsage().rss
  const findings = await fuzz(target, seed, count)
  const growth = process.memoryUsage().rss - before
  if (growth > MAX_GROWTH_BYTES) findings.push({ target: target.name, seed, what: `it kept ${growth} bytes` })
  for (const finding of findings) process.stderr.write(`FOUND: ${JSON.stringify(finding)}\n`)
  process.stderr.write(`fuzz: ${target.name}, ${count} inputs\n`)
  results.readers.push({ name: target.name, inputs: count, faults: findings.length })
}
writeFileSync(resultsFile, `${JSON.stringify(results, null, 2)}\n`)
const page = join(import.meta.dirname, '../../docs/reliability.md')
const filled = `$1${formatResults(results)}\n$2`
writeFileSync(page, readFileSync(page, 'utf8').replace(/(<!-- fuzz:start -->\n)[\s\S]*?(<!-- fuzz:end -->)/, filled))
if (results.readers.some(({ faults }) => faults > 0)) process.exitCode = 1
