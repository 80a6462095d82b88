import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brokerKilled } from './bounces.ts'
import { bucketFaults, faults, faultsOfStore, newRestoreFaults, restoreFaults } from './catalog.ts'
import { brokenPromises, type Fault, type FaultResult, measureFault, seedOf } from './fault.ts'
import { type LabOptions, openLab } from './open-lab.ts'
import { type Figures, writeReport } from './report.ts'
import { restoreBrokerKilled } from './restore-bounces.ts'

/**
 * `make soak`: many rounds of every fault. SOAK_MINUTES (10) scales the rounds, SOAK_PART (backup, restore) runs one part,
 * FAULT_SEED repeats a run. It writes the figures of docs/reliability.md, and fails where a promise was broken.
 */
const { SOAK_MINUTES = '10', SOAK_PART } = process.env
const minutes = Number(SOAK_MINUTES)
const seed = seedOf(process.env)
const resultsFile = join(import.meta.dirname, 'results.json')

const parts: Record<keyof Figures, () => Promise<FaultResult[]>> = {
  backup: async () => [
    ...(await runFaults({ brokers: 1, store: 'filesystem' }, faults)),
    ...(await runFaults({ brokers: 1, store: 's3' }, bucketFaults)),
    ...(await runFaults({ brokers: 1, store: 'azure' }, faultsOfStore('Azure'))),
    ...(await runFaults({ brokers: 1, store: 'gcs' }, faultsOfStore('Google Cloud'))),
    ...(await runFaults({ brokers: 3, store: 'filesystem' }, [named(brokerKilled, 'one of three brokers is killed')])),
  ],
  restore: async () => [
    ...(await runFaults({ brokers: 1, store: 'filesystem' }, [...restoreFaults, ...newRestoreFaults])),
    ...(await runFaults({ brokers: 3, store: 'filesystem' }, [
      named(restoreBrokerKilled, 'one of three brokers is killed under a restore'),
    ])),
  ],
}

const figures = JSON.parse(await readFile(resultsFile, 'utf8')) as Figures
const chosen = (['backup', 'restore'] as const).filter(part => SOAK_PART === undefined || SOAK_PART === part)
const settings = `SOAK_MINUTES=${minutes} FAULT_SEED=${seed}`
for (const part of chosen) {
  const results = await parts[part]()
  const date = new Date().toISOString().slice(0, 10)
  figures[part] = { date, command: `SOAK_PART=${part} ${settings} make soak`, results }
  await writeFile(resultsFile, `${JSON.stringify(figures, null, 2)}\n`)
}
process.stdout.write(await writeReport(figures))
const broken = chosen.flatMap(part =>
  figures[part].results.flatMap(one => brokenPromises(one).map(line => `BROKEN: ${one.name}: ${line}\n`)),
)
for (const line of broken) process.stderr.write(line)
process.exitCode = broken.length > 0 ? 1 : 0

async function runFaults(options: LabOptions, list: readonly Fault[]): Promise<FaultResult[]> {
  await using lab = await openLab(options)
  const results: FaultResult[] = []
  for (const fault of list) {
    const rounds = scaled(fault)
    process.stderr.write(`soak: ${fault.name}, ${rounds} rounds\n`)
    results.push(await measureFault(fault, lab, { rounds, seed }))
  }
  return results
}

function named(fault: Fault, name: string): Fault {
  return { ...fault, name }
}

/** What goes through all there is in one round gains nothing from more of them. */
function scaled({ rounds }: Fault): number {
  const isExhaustive = rounds.soak <= rounds.test * 2
  return isExhaustive ? rounds.soak : Math.max(rounds.test, Math.round((rounds.soak * minutes) / 10))
}
