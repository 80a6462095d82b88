import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeSample, type Samples, samples, samplesFile, sampleVersions } from './samples.ts'

/**
 * `node_modules/.bin/node test/kafka/api/write-samples.ts`: has the classes of Kafka 3.9.1, which `make servers` provides, write
 * every sample in every version, and writes samples.json; run `make format` after it. Read what changed: `decoded` is what our codecs make of the answers.
 */
const jars = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'kafka-backup-dev/kafka-3.9.1/*')
const folder = mkdtempSync(join(tmpdir(), 'wire-samples-'))
const input = join(folder, 'in.json')
writeFileSync(input, JSON.stringify(Object.fromEntries(samples.map(one => [one.api.name, sampleVersions(one)]))))
execFileSync('javac', ['-cp', jars, '-d', folder, join(import.meta.dirname, 'WireSamples.java')])
const written: Samples = JSON.parse(
  execFileSync('java', ['-cp', `${jars}:${folder}`, 'WireSamples', input], { encoding: 'utf8' }),
)
rmSync(folder, { recursive: true })
for (const one of samples) {
  for (const [version, bytes] of Object.entries(written[one.api.name] ?? {})) {
    bytes.decoded = decodeSample(one, Number(version), bytes.response)
  }
}
writeFileSync(samplesFile, `${JSON.stringify(written, null, 1)}\n`)
