import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { applyChange, emptyState } from '../src/archive/log/change.ts'
import { commitKey } from '../src/archive/log/keys.ts'
import { listCommits } from '../src/archive/log/list-commits.ts'
import { readChange, readCommit } from '../src/archive/log/read-commit.ts'
import type { Cluster } from '../src/kafka/cluster.ts'
import { createTopics } from '../src/kafka/topic-admin.ts'
import { waitForTopics } from '../src/kafka/topic-leaders.ts'
import { openFilesystemStorage } from '../src/storage/file/filesystem.ts'
import { openCluster, waitForLogs } from '../test/e2e/raw-produce.ts'
import { encodeRun } from '../test/fakes/batches.ts'
import { Producer } from '../test/fakes/producer.ts'
import { startKafka } from '../test/servers/kafka.ts'
import { cli, measureProcess } from './measure.ts'
import type { Row } from './row.ts'

const TOPICS = 50
const PARTITIONS = 100
const SECONDS = 600
const timeoutMs = 30_000
const { signal } = new AbortController()

/** The program as users run it, with a commit each second, while every one of 5,000 partitions of a broker gets a record a second. */
export async function runContinuously(folder: string, say: (text: string) => void): Promise<Row[]> {
  await using server = await startKafka({ jvm: 'steady', heapMb: 1024 })
  const cluster = await openCluster(server)
  try {
    say(`creating ${TOPICS * PARTITIONS} partitions`)
    const broker = await makeTopics(cluster)
    const path = join(folder, 'continuous')
    const config = join(folder, 'continuous.json')
    const source = { bootstrap_servers: server.bootstrapServers, topics: { include: ['active-*'] } }
    const backup = { continuous: true, commit_interval: '1s' }
    await writeFile(config, JSON.stringify({ ...job, source, storage: { backend: 'filesystem', path }, backup }))
    const producing = produceEverySecond(cluster, broker, say)
    const args = [cli, 'backup', '--config', config, '--quiet']
    const running = measureProcess(process.execPath, args, producing.then(settle))
    // A failed producer is the reason that counts.
    running.catch(() => undefined)
    const acknowledged = await producing
    const { peakBytes, cpuMs } = await running
    const { lagMs, commits } = await measureLag(path, acknowledged)
    const name = `${(TOPICS * PARTITIONS).toLocaleString('en')} active partitions of a broker, a commit each second`
    const detail = { seconds: SECONDS, commits }
    return [
      { name, measure: 'longest lag of a record', value: lagMs / 1000, unit: 's', limit: 5, detail },
      { name, measure: 'peak memory', value: peakBytes / 1e6, unit: 'MB', limit: 250, detail },
      { name, measure: 'CPU for each second', value: cpuMs / SECONDS, unit: 'ms', detail },
    ]
  } finally {
    cluster.close()
  }
}

const job = { mode: 'backup', backup_id: 'b' }

/** Returns their leader. */
async function makeTopics(cluster: Cluster): Promise<number> {
  const names = Array.from({ length: TOPICS }, (_, i) => `active-${i}`)
  // Otherwise the broker sets 20 MB aside for each.
  const configs = { 'segment.index.bytes': '1024' }
  const topics = names.map(name => ({ name, partitions: PARTITIONS, replication: 1, configs }))
  let leader = -1
  // One after the other: the broker opens files for each partition.
  for (const topic of topics) {
    await createTopics(cluster, [topic], { timeoutMs }, signal)
    const [made] = await waitForTopics(cluster, [topic], signal)
    leader = made?.partitions[0]?.leader ?? -1
    await waitForLogs(cluster, topic.name, PARTITIONS)
  }
  return leader
}

/** Until the last records are committed. */
async function settle(): Promise<void> {
  await new Promise(resolve => setTimeout(resolve, 15_000))
}

/** One record for each partition, every second. Returns when each of these rounds was acknowledged. */
async function produceEverySecond(cluster: Cluster, broker: number, say: (text: string) => void): Promise<number[]> {
  const producer = await Producer.open(cluster, { timeoutMs }, signal)
  const acknowledged: number[] = []
  const startedAt = Date.now()
  try {
    for (let round = 0; round < SECONDS; round++) {
      await new Promise(resolve => setTimeout(resolve, Math.max(0, startedAt + round * 1000 - Date.now())))
      const batch = encodeRun(0n, 1, { valueBytes: 100, baseTimestamp: BigInt(Date.now()) })
      const entries = Array.from({ length: TOPICS * PARTITIONS }, (_, i) => ({
        topic: `active-${Math.floor(i / PARTITIONS)}`,
        partition: i % PARTITIONS,
        batch,
      }))
      const answers = await producer.produce(broker, entries, signal)
      const refused = answers.find(({ errorCode }) => errorCode !== 0)
      if (refused) throw new Error(`the broker refused a batch with error ${refused.errorCode}`)
      acknowledged.push(Date.now())
      if (round % 60 === 59) say(`${round + 1} s of ${SECONDS} s with a record a second for each partition`)
    }
  } finally {
    producer.close()
  }
  return acknowledged
}

/**
 * How long the oldest record that was not committed yet had waited when the next commit appeared, at worst. A round of records counts as
 * committed when all of its partitions are.
 */
async function measureLag(path: string, acknowledged: readonly number[]): Promise<{ lagMs: number; commits: number }> {
  const storage = openFilesystemStorage({ path })
  const generations = await listCommits(storage, 'b', signal)
  let state = emptyState
  let lagMs = 0
  let committed = 0
  for (const generation of generations) {
    const { mtimeMs } = await stat(join(path, commitKey('b', generation)))
    // What was produced before the first commit had to wait for the start of the program.
    const oldest = generation === 1 ? undefined : acknowledged[committed]
    if (oldest !== undefined) lagMs = Math.max(lagMs, mtimeMs - oldest)
    state = applyChange(state, await readChange(storage, await readCommit(storage, 'b', generation, signal), signal))
    const ends = [...state.lists.values()].map(({ end_offset }) => Number(end_offset))
    committed = ends.length < TOPICS * PARTITIONS ? 0 : Math.min(...ends)
  }
  if (committed !== acknowledged.length) {
    throw new Error(`${committed} of ${acknowledged.length} records of each partition are in the backup`)
  }
  return { lagMs, commits: generations.length }
}
