import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brokerKilled } from './bounces.ts'
import { bucketFaults, faults } from './catalog.ts'
import { brokenPromises, type Fault, type FaultResult, measureFault, seedOf } from './fault.ts'
import { type LabOptions, openLab } from './open-lab.ts'
import { type SoakResult, writeReport } from './report.ts'

/**
 * `make soak`: many rounds of every fault. SOAK_MINUTES (10) scales the rounds, FAULT_SEED repeats a run. It writes the
 * figures of docs/reliability.md, and fails where a promise was broken.
 */
const minutes = Number(process.env.SOAK_MINUTES ?? 10)
const seed = seedOf(process.env)
const results: FaultResult[] = []

await withLab({ brokers: 1, store: 'filesystem' }, faults)
await withLab({ brokers: 1, store: 's3' }, bucketFaults)
await withLab({ brokers: 3, store: 'filesystem' }, [{ ...brokerKilled, name: 'one of three brokers is killed' }])

const date = new Date().toISOString().slice(0, 10)
const result: SoakResult = { date, command: `SOAK_MINUTES=${minutes} FAULT_SEED=${seed} make soak`, results }
await writeFile(join(import.meta.dirname, 'results.json'), `${JSON.stringify(result, null, 2)}\n`)
process.stdout.write(await writeReport(result))
for (const one of results) {
  for (const line of brokenPromises(one)) process.stderr.write(`BROKEN: ${one.name}: ${line}\n`)
}
process.exitCode = results.some(one => brokenPromises(one).length > 0) ? 1 : 0

async function withLab(options: LabOptions, list: readonly Fault[]): Promise<void> {
  await using lab = await openLab(options)
  for (const fault of list) {
    const rounds = scaled(fault)
    process.stderr.write(`soak: ${fault.name}, ${rounds} rounds\n`)
    results.push(await measureFault(fault, lab, { rounds, seed }))
  }
}

/** What goes through all there is in one round gains nothing from more of them. */
function scaled({ rounds }: Fault): number {
  const isExhaustive = rounds.soak <= rounds.test * 2
  return isExhaustive ? rounds.soak : Math.max(rounds.test, Math.round((rounds.soak * minutes) / 10))
}
