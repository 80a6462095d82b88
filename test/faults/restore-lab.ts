import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseJob } from '../../src/config/load-job.ts'
import type { Hooks } from '../../src/jobs/parts.ts'
import { runRestoreJob } from '../../src/jobs/restore.ts'
import type { Cluster } from '../../src/kafka/cluster.ts'
import type { RestoreReport } from '../../src/restore/report.ts'
import { backUp } from '../e2e/backup-job.ts'
import { openCluster } from '../e2e/raw-produce.ts'
import type { PartitionDigest } from '../servers/driver.ts'
import { cli, type Ended, type Running, runHere, startProcess } from './command.ts'
import type { Lab, Place } from './lab.ts'
import { makePlace } from './lab.ts'
import { seedRestoreTopics } from './restore-topics.ts'

const never = new AbortController().signal

/** A backup of topics of every kind, and what the official client reads of them. */
export interface RestoreSubject {
  place: Place
  topics: string[]
  records: number
  digests: Map<string, PartitionDigest[]>
  settings: Map<string, Record<string, string>>
}

/** A restore of its own, into topics of its own. */
export interface Target {
  config: string
  /** By the topic of the source. */
  names: Map<string, string>
}

export interface TargetSpec {
  /** Without it over SASL_SSL. */
  plainServers?: readonly string[]
  /** More of the job's `restore:`. */
  restore?: Record<string, unknown>
  /** Into the topics of this one. */
  into?: Target
}

const subjects = new WeakMap<Lab, Promise<RestoreSubject>>()
let targets = 0

/** Made once for a lab: restores only read it. */
export function restoreSubject(lab: Lab): Promise<RestoreSubject> {
  const known = subjects.get(lab)
  if (known) return known
  const made = prepare(lab)
  subjects.set(lab, made)
  return made
}

async function prepare(lab: Lab): Promise<RestoreSubject> {
  const topics = await seedRestoreTopics(lab.driver)
  const place = await makePlace(lab, 'restore-*')
  await backUp(place.spec)
  const digests = new Map<string, PartitionDigest[]>()
  for (const topic of topics) digests.set(topic, await lab.driver.digest(topic, { isolation: 'read_committed' }))
  const records = [...digests.values()].flat().reduce((sum, { count }) => sum + count, 0)
  const settings = await withCluster(lab, cluster => cluster.topicConfigs(topics, never))
  return { place, topics, records, digests, settings }
}

async function withCluster<T>(lab: Lab, look: (cluster: Cluster) => Promise<T>): Promise<T> {
  const cluster = await openCluster(lab.server)
  try {
    return await look(cluster)
  } finally {
    cluster.close()
  }
}

export async function makeTarget(lab: Lab, subject: RestoreSubject, spec: TargetSpec = {}): Promise<Target> {
  const name = `target-${++targets}`
  const { plainServers, restore = {}, into } = spec
  const names = into?.names ?? new Map(subject.topics.map(topic => [topic, `${name}-${topic}`]))
  const job = {
    mode: 'restore',
    backup_id: 'b1',
    target: plainServers ? { bootstrap_servers: plainServers } : { ...lab.source, bootstrap_servers: lab.servers },
    storage: subject.place.spec.storage,
    restore: { topic_mapping: Object.fromEntries(names), batch_bytes: '16KiB', commit_interval: '1s', ...restore },
  }
  const config = join(lab.folder, 'jobs', `${name}.yaml`)
  await mkdir(join(lab.folder, 'jobs'), { recursive: true })
  await writeFile(config, JSON.stringify(job))
  return { config, names }
}

/** Other fields of the job's `restore:` for the next run. */
export async function changeTarget({ config }: Target, changes: Record<string, unknown>): Promise<void> {
  const job = JSON.parse(await readFile(config, 'utf8'))
  await writeFile(config, JSON.stringify({ ...job, restore: { ...job.restore, ...changes } }))
}

/** The published command line as a process of its own. */
export function startRestore({ config }: Target, ...options: string[]): Running {
  return startProcess(process.execPath, [cli, 'restore', '--config', config, ...options])
}

/** Of two runs of one restore the one that read the progress before the other one ended, and would have replaced it. */
export function hasMissedTheEnd({ code, stderr }: Ended): boolean {
  return code === 1 && stderr.includes('ended after this run had read its progress')
}

/** The same command line in the process of the test. */
export function runRestore({ config }: Target, ...options: string[]): Promise<Ended> {
  return runHere(['restore', '--config', config, ...options])
}

/** The same through the library, with a store of the caller's. */
export async function restoreInProcess({ config }: Target, hooks: Partial<Hooks> = {}): Promise<RestoreReport> {
  const job = parseJob(await readFile(config, 'utf8'), { source: config, env: {}, mode: 'restore' })
  return runRestoreJob(job, { onProgress: () => undefined, ...hooks }, never)
}

export type TargetDifference = Record<'lost' | 'duplicated' | 'wrong' | 'other settings', number>

/** Holds the target against what the official client reads of the source. */
export async function compareTarget(lab: Lab, subject: RestoreSubject, target: Target): Promise<TargetDifference> {
  const difference = { lost: 0, duplicated: 0, wrong: 0, 'other settings': 0 }
  for (const [source, name] of target.names) {
    const expected = subject.digests.get(source) ?? []
    const found = await lab.driver.digest(name, { isolation: 'read_uncommitted' })
    for (const [partition, { count, sha256 }] of expected.entries()) {
      const there = found[partition] ?? { count: 0, sha256: '', last: -1n }
      difference.lost += Math.max(0, count - there.count)
      difference.duplicated += Math.max(0, there.count - count)
      // Without a marker or a hole the last record has the number of records as its offset.
      if (there.count === count && (there.sha256 !== sha256 || there.last !== BigInt(count) - 1n)) difference.wrong++
    }
  }
  // Last: a broker knows of them some time after the controller.
  const settings = await withCluster(lab, cluster => cluster.topicConfigs([...target.names.values()], never))
  const text = (configs: Record<string, string> = {}) => JSON.stringify(Object.entries(configs).sort())
  for (const [source, name] of target.names) {
    if (text(settings.get(name)) !== text(subject.settings.get(source))) difference['other settings']++
  }
  return difference
}

/** How far a target is: what an experiment has hit. */
export async function stageOf(lab: Lab, subject: RestoreSubject, target: Target): Promise<string> {
  const names = [...target.names.values()]
  const { topics } = await withCluster(lab, cluster => cluster.metadata({ topics: null }, never))
  const there = names.filter(name => topics.some(topic => topic.name === name))
  if (there.length === 0) return 'before the topics were made'
  if (there.length < names.length) return 'while topics were made'
  const ends = (await Promise.all(names.map(name => lab.driver.endOffsets(name)))).flat()
  const written = ends.reduce((sum, end) => sum + Number(end), 0)
  if (written === 0) return 'before the first record'
  return written < subject.records ? 'while records were written' : 'when all was written'
}

export async function dropTarget(lab: Lab, { names }: Target): Promise<void> {
  for (const name of names.values()) await lab.driver.deleteTopic(name)
}
