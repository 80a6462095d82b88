import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { newerSamples } from './newer-samples.ts'
import { decodeSample, type Sample, type Samples, samplesFile, sampleVersions } from './sample.ts'
import { olderSamples, samples } from './samples.ts'

/**
 * `node_modules/.bin/node test/kafka/api/write-samples.ts`: has the classes of Kafka 3.9.1, and those of 4.1.1 for what came later, write
 * every sample in every version, and writes samples.json; run `make format` after it. `make servers` provides the classes. Read what changed:
 * `decoded` is what our codecs make of the answers.
 */
const written: Samples = { ...writtenBy('3.9.1', olderSamples), ...writtenBy('4.1.1', newerSamples) }
for (const one of samples) {
  for (const [version, bytes] of Object.entries(written[one.api.name] ?? {})) {
    bytes.decoded = decodeSample(one, Number(version), bytes.response)
  }
}
writeFileSync(samplesFile, `${JSON.stringify(written, null, 1)}\n`)

function writtenBy(release: string, some: readonly Sample[]): Samples {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache')
  const jars = join(cache, `kafka-backup-dev/kafka-${release}/*`)
  const folder = mkdtempSync(join(tmpdir(), 'wire-samples-'))
  try {
    const input = join(folder, 'in.json')
    writeFileSync(input, JSON.stringify(Object.fromEntries(some.map(one => [one.api.name, sampleVersions(one)]))))
    execFileSync('javac', ['-cp', jars, '-d', folder, join(import.meta.dirname, 'WireSamples.java')])
    return JSON.parse(execFileSync('java', ['-cp', `${jars}:${folder}`, 'WireSamples', input], { encoding: 'utf8' }))
  } finally {
    rmSync(folder, { recursive: true })
  }
}
