import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const serverFolders = ['test/e2e/', 'test/faults/', 'test/servers/']

/** Seconds by file, measured on two cores and rounded; `RECORD=1` with `make unit` and `make e2e` writes it. */
const durationsFile = join(import.meta.dirname, 'durations.json')
export type Durations = Record<string, number>

/**
 * Files of `make test-full` only. Their promises are tried in `make test` as well, in a smaller way: test/full.md says
 * where.
 */
export const fullOnly: readonly string[] = [
  'test/e2e/chart-upgrade-keeps-resources.test.ts',
  'test/e2e/restore-to-another-cluster.test.ts',
  'test/e2e/awkward-networks.test.ts',
  'test/e2e/azure-complete-backup.test.ts',
  'test/e2e/gcs-complete-backup.test.ts',
  'test/e2e/many-partitions.test.ts',
  'test/e2e/chart-alerts.test.ts',
  'test/e2e/dashboard-of-a-real-operator.test.ts',
  'test/e2e/demo.test.ts',
  'test/e2e/three-secure-brokers.test.ts',
  'test/faults/operator-and-a-failing-api.test.ts',
  'test/servers/driver.test.ts',
  'test/servers/guard.test.ts',
  'test/servers/kafka-tools.test.ts',
  'test/servers/kafka.test.ts',
  'test/servers/kube-fault-proxy.test.ts',
  'test/servers/kube.test.ts',
  'test/servers/kubelet.test.ts',
  'test/servers/node/node.test.ts',
  'test/servers/shared-apicurio.test.ts',
  'test/servers/shared-kafka.test.ts',
  'test/servers/shared-kube.test.ts',
]

/** Files that need a real Kubernetes node, which not every machine can run. */
export const onNode: readonly string[] = ['test/e2e/real-node.test.ts', 'test/servers/node/node.test.ts']

export interface TestFiles {
  /** Those that need no server. */
  unit: string[]
  /** Those with servers that `make test` runs. */
  e2e: string[]
  /** Those with servers that only `make test-full` runs. */
  full: string[]
}

/** Every test file, relative to the project. */
export function findTestFiles(): TestFiles {
  const files = globSync('test/**/*.test.ts', { cwd: root }).sort()
  const withServers = files.filter(file => serverFolders.some(folder => file.startsWith(folder)))
  return {
    unit: files.filter(file => !withServers.includes(file)),
    e2e: withServers.filter(file => !fullOnly.includes(file)),
    full: withServers.filter(file => fullOnly.includes(file)),
  }
}

/**
 * Those named, or all without those that this machine cannot run, and what to print of these. A file that is named runs in
 * any case and fails with the reason.
 */
export function chooseFiles(
  all: readonly string[],
  named: readonly string[],
  nodeObstacle: string | undefined,
): { chosen: readonly string[]; notRun?: string } {
  if (named.length > 0) return { chosen: named }
  const left = nodeObstacle === undefined ? [] : all.filter(file => onNode.includes(file))
  if (left.length === 0) return { chosen: all }
  const notRun = `NOT RUN: ${left.join(', ')}: this machine cannot run a Kubernetes node: ${nodeObstacle}`
  return { chosen: all.filter(file => !left.includes(file)), notRun }
}

/** What `make test` leaves to `make test-full` in the files that it runs: calls of the functions of test/full.ts. */
export function countFullCases(files: readonly string[]): number {
  const calls = files.map(file => readFileSync(join(root, file), 'utf8').match(/^\s*full(?:Test|Describe)\(/gm) ?? [])
  return calls.flat().length
}

export function readDurations(): Durations {
  return JSON.parse(readFileSync(durationsFile, 'utf8'))
}

/** Replaces the durations of these files, and keeps those of the others. */
export function writeDurations(measured: Durations): void {
  const recorded = { ...readDurations(), ...measured }
  const ordered = orderByDuration(Object.keys(recorded), recorded).map(file => [file, recorded[file]])
  writeFileSync(durationsFile, `${JSON.stringify(Object.fromEntries(ordered), null, 2)}\n`)
}

/** A unit test without a duration is one of many that take this long, with the time to load it. */
const SHORT_SECONDS = 0.2

/** As many lists as shards, which take about the same time: the longest file first, each into the shortest list. */
export function planShards(files: readonly string[], shards: number, durations: Durations): string[][] {
  const lists = Array.from({ length: Math.min(shards, files.length) }, () => ({ seconds: 0, files: [] as string[] }))
  const seconds = (file: string) => SHORT_SECONDS + (durations[file] ?? 0)
  for (const file of [...files].sort((a, b) => seconds(b) - seconds(a))) {
    const [shortest] = lists.toSorted((a, b) => a.seconds - b.seconds)
    shortest?.files.push(file)
    if (shortest) shortest.seconds += seconds(file)
  }
  return lists.map(list => list.files.sort(compareText))
}

/** The longest first, so that no core is idle while the last long one runs. A file without a duration counts as a minute. */
export function orderByDuration(files: readonly string[], durations: Durations): string[] {
  const seconds = (file: string) => durations[file] ?? 60
  return [...files].sort((a, b) => (seconds(a) === seconds(b) ? compareText(a, b) : seconds(b) - seconds(a)))
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
