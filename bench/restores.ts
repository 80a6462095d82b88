import { cp, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { KafkaDriver } from '../test/servers/driver.ts'
import type { KafkaServer } from '../test/servers/kafka.ts'
import { BATCHED } from './cluster.ts'
import { countPieces, windowOf } from './inside-backup.ts'
import { cli, cpuOf, measureProcess, median, repeatUntilSteady, settleDisk } from './measure.ts'
import { runPerfTool } from './perf-tool.ts'
import type { BenchRegistry } from './registries.ts'
import type { Row } from './row.ts'

type Registry = BenchRegistry['section']
type Registries = Record<'source' | 'target', BenchRegistry>

interface Restored {
  wallMs: number
  cpuMs: number
  peakBytes: number
  records: number
  bytes: number
  rebuilt: number
}

const ROUNDS = 3
const bareSend = resolve(import.meta.dirname, 'bare-send.ts')
const MAX_MB = 250

/** Restores of the benchmark's topics under other names, which are deleted again. */
export class Restores {
  readonly #server: KafkaServer
  readonly #driver: KafkaDriver
  readonly #folder: string
  readonly #payload: string
  #count = 0

  constructor(server: KafkaServer, driver: KafkaDriver, folder: string, payload: string) {
    this.#server = server
    this.#driver = driver
    this.#folder = folder
    this.#payload = payload
  }

  /** Against Kafka's own producer writing as many of the same records with these settings, taking turns. */
  async againstPerfTool(topic: string, props: Record<string, string>, least: number): Promise<Row[]> {
    const path = await this.#backUp(topic)
    const theirs: number[] = []
    const ours: Restored[] = []
    const takeTurns = async () => {
      await settleDisk()
      const brokerMs = this.#brokerCpuMs()
      const run = await this.#restore(path, topic)
      const restoringMs = this.#brokerCpuMs() - brokerMs
      await settleDisk()
      return { run, restoringMs, recordsPerSecond: await this.#produce(run.records, props) }
    }
    const warmUp = await repeatUntilSteady(async () => (await takeTurns()).restoringMs)
    for (let round = 0; round < ROUNDS; round++) {
      const { run, recordsPerSecond } = await takeTurns()
      ours.push(run)
      theirs.push(recordsPerSecond)
    }
    const wallMs = median(ours.map(run => run.wallMs))
    const [{ records = 0, bytes = 0 } = {}] = ours
    const perSecond = (records / wallMs) * 1000
    const rates = { ours_ms: wallMs, records, bytes, perf_records_per_second: median(theirs) }
    const [first = 0] = warmUp
    const cold = { warm_up_rounds: warmUp.length, broker_cold_ms: first, broker_warm_ms: Math.min(...warmUp) }
    const detail = { ...rates, rounds: ROUNDS, ...cold }
    const name = `restore of ${topic}`
    const value = perSecond / median(theirs)
    const how = Object.keys(props).length > 0 ? 'with the same settings' : 'with its default settings'
    const peakMb = Math.max(...ours.map(run => run.peakBytes)) / 1e6
    return [
      { name, measure: `throughput against kafka-producer-perf-test ${how}`, value, unit: 'ratio', least, detail },
      { name, measure: 'peak memory', value: peakMb, unit: 'MB', limit: MAX_MB, detail },
    ]
  }

  /** Its CPU time against that of a loop that only reads, hashes and sends the same segments, taking turns. */
  async againstBareLoop(topic: string): Promise<Row> {
    const path = await this.#backUp(topic)
    const ours: number[] = []
    const bare: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      ours.push((await this.#restore(path, topic)).cpuMs)
      bare.push((await measureProcess(process.execPath, [bareSend, path])).cpuMs)
    }
    return {
      name: `restore of ${topic}`,
      measure: 'CPU time against a bare loop that reads, hashes and sends the same bytes',
      value: median(ours) / median(bare),
      unit: 'ratio',
      limit: 2,
      detail: { ours_ms: median(ours), bare_ms: median(bare), rounds: ROUNDS },
    }
  }

  /**
   * Up to a point in time near the end and in the middle, and a window with a begin, too, against a restore of everything, taking turns.
   * The headers of batches show that they lie before an end; those behind it, and all of them for a begin, have to be opened, since only
   * their records tell their earliest time.
   */
  async withWindow(topic: string): Promise<Row[]> {
    const path = await this.#backUp(topic)
    const { start, end } = await windowOf(path)
    const whole: Restored[] = []
    const ended: Restored[] = []
    const halved: Restored[] = []
    const both: Restored[] = []
    for (let round = 0; round < ROUNDS; round++) {
      whole.push(await this.#restore(path, topic))
      ended.push(await this.#restore(path, topic, { time_window_end: end }))
      halved.push(await this.#restore(path, topic, { time_window_end: Math.round((start + end) / 2) }))
      both.push(await this.#restore(path, topic, { time_window_start: start, time_window_end: end }))
    }
    const plainMs = median(whole.map(run => run.wallMs))
    const compare = (runs: readonly Restored[]) => {
      const ours = median(runs.map(run => run.wallMs))
      const [{ records = 0, rebuilt = 0 } = {}] = runs
      const detail = { ours_ms: ours, plain_ms: plainMs, records, of_records: whole[0]?.records ?? 0, rebuilt }
      return {
        measure: 'wall time against a restore of everything',
        value: ours / plainMs,
        unit: 'ratio',
        detail,
      } as const
    }
    return [
      { name: `restore of ${topic} up to a point in time`, ...compare(ended), limit: 1.2 },
      { name: `restore of ${topic} up to the middle of its time`, ...compare(halved) },
      { name: `restore of ${topic}, a window with a begin and an end`, ...compare(both) },
    ]
  }

  /** The commits of a continuous run before and after they are merged to segments against a backup by a single run, taking turns. */
  async ofCommits(topic: string, records: number): Promise<Row[]> {
    await this.#driver.createTopic(topic, { partitions: 200 })
    const path = join(this.#folder, 'commits')
    const props = { ...BATCHED, 'compression.type': 'zstd' }
    // As many commits as an hour has minutes, of a record rate that keeps all appends small.
    const rate = Math.ceil(records / 60)
    const producing = runPerfTool(this.#server, { topic, records, payload: this.#payload, props, rate })
    await this.#backUpContinuously([topic], path, '24h', producing.then(waitSeconds(5)))
    const merged = join(this.#folder, 'merged')
    await cp(path, merged, { recursive: true })
    // Merges are looked for every few commits: records of another topic make these.
    await this.#driver.createTopic('ticks', { partitions: 1 })
    const ticking = runPerfTool(this.#server, { topic: 'ticks', records: 300, payload: this.#payload, rate: 2 })
    await this.#backUpContinuously([topic, 'ticks'], merged, '1m', ticking)
    const paths = { single: await this.#backUp(topic), unmerged: path, merged }
    const pieces = { unmerged: await countPieces(path, topic), merged: await countPieces(merged, topic) }
    if (pieces.merged > 0 || pieces.unmerged < 200) throw new Error(`pieces: ${JSON.stringify(pieces)}`)
    const wallMs = { single: [] as number[], unmerged: [] as number[], merged: [] as number[] }
    for (let round = 0; round < ROUNDS; round++) {
      for (const kind of ['single', 'unmerged', 'merged'] as const) {
        wallMs[kind].push((await this.#restore(paths[kind], topic, { topics: { include: [topic] } })).wallMs)
      }
    }
    const singleMs = median(wallMs.single)
    const row = (kind: 'unmerged' | 'merged', name: string, limit: number): Row => ({
      name,
      measure: 'wall time against the backup of a single run',
      value: median(wallMs[kind]) / singleMs,
      unit: 'ratio',
      limit,
      detail: { ours_ms: median(wallMs[kind]), single_ms: singleMs, pieces: pieces[kind], rounds: ROUNDS },
    })
    return [
      row('unmerged', 'restore of an hour of commits that are not merged to segments', 2),
      row('merged', 'restore of the same commits, merged', 1.15),
    ]
  }

  #brokerCpuMs(): number {
    return cpuOf(this.#server.brokerPid(0))
  }

  async #backUpContinuously(
    include: readonly string[],
    path: string,
    mergeAfter: string,
    stop: Promise<unknown>,
  ): Promise<void> {
    const source = { bootstrap_servers: this.#server.bootstrapServers, topics: { include } }
    const backup = { continuous: true, commit_interval: '1s', merge_after: mergeAfter }
    const config = await this.#write({
      mode: 'backup',
      backup_id: 'bench',
      source,
      storage: filesystem(path),
      backup,
    })
    await measureProcess(process.execPath, [cli, 'backup', '--config', config, '--quiet'], stop)
  }

  async memoryGrowth(topic: string, larger: string): Promise<Row> {
    const peak = async (name: string) => {
      const path = await this.#backUp(name)
      const runs = [await this.#restore(path, name), await this.#restore(path, name), await this.#restore(path, name)]
      return median(runs.map(run => run.peakBytes)) / 1e6
    }
    const [small, large] = [await peak(topic), await peak(larger)]
    return {
      name: `restore of ${larger} against ${topic}`,
      measure: 'peak memory of a topic four times larger',
      value: large / small,
      unit: 'ratio',
      limit: 1.1,
      detail: { small_mb: small, large_mb: large },
    }
  }

  /** With the schema IDs of another registry in its records against a restore as it is, taking turns. */
  async withRewriting(
    topic: string,
    { limit, ids }: { limit?: number; ids: string },
    registries: Registries,
  ): Promise<Row[]> {
    const path = await this.#backUp(topic, registries.source.section)
    const plain: Restored[] = []
    const rewritten: Restored[] = []
    for (let round = 0; round < ROUNDS; round++) {
      plain.push(await this.#restore(path, topic))
      rewritten.push(await this.#restore(path, topic, {}, registries.target.section))
    }
    const [plainMs, wallMs] = [plain, rewritten].map(runs => median(runs.map(run => run.wallMs))) as [number, number]
    const [{ records = 0, bytes = 0, rebuilt = 0 } = {}] = rewritten
    if (rebuilt === 0) throw new Error(`no batch of ${topic} got other schema IDs`)
    const detail = { ours_ms: wallMs, plain_ms: plainMs, records, bytes, plain_bytes: plain[0]?.bytes ?? 0, rebuilt }
    const peakMb = Math.max(...rewritten.map(run => run.peakBytes)) / 1e6
    const name = `restore of ${topic} with ${ids}`
    const measure = 'wall time against a restore with the same IDs'
    const value = wallMs / plainMs
    return [
      { name, measure, value, unit: 'ratio', ...(limit && { limit }), detail: { ...detail, rounds: ROUNDS } },
      { name, measure: 'peak memory', value: peakMb, unit: 'MB', limit: MAX_MB, detail },
    ]
  }

  async #backUp(topic: string, registry?: Registry): Promise<string> {
    const path = join(this.#folder, `${registry ? 'rewrite' : 'restore'}-${topic}`)
    const source = { bootstrap_servers: this.#server.bootstrapServers, topics: { include: [topic] } }
    const job = { mode: 'backup', backup_id: 'bench', source, storage: filesystem(path) }
    const config = await this.#write({ ...job, ...enterprise(registry) })
    await measureProcess(process.execPath, [cli, 'backup', '--config', config])
    return path
  }

  /** The program as users run it. */
  async #restore(path: string, topic: string, choice: object = {}, registry?: Registry): Promise<Restored> {
    const name = `restored-${this.#count++}`
    const target = { bootstrap_servers: this.#server.bootstrapServers }
    const restore = { topic_mapping: { [topic]: name }, ...choice }
    const config = await this.#write({
      mode: 'restore',
      backup_id: 'bench',
      target,
      storage: filesystem(path),
      restore,
      ...enterprise(registry),
    })
    const args = [cli, 'restore', '--config', config, '--format', 'json']
    const { wallMs, peakBytes, cpuMs, stdout } = await measureProcess(process.execPath, args)
    const { records, bytes, rebuilt_batches: rebuilt } = JSON.parse(stdout).totals
    await this.#driver.deleteTopic(name)
    return { wallMs, cpuMs, peakBytes, records, bytes, rebuilt }
  }

  async #produce(records: number, props: Record<string, string>): Promise<number> {
    const topic = `produced-${this.#count++}`
    await this.#driver.createTopic(topic, { partitions: 4 })
    const { recordsPerSecond } = await runPerfTool(this.#server, { topic, records, payload: this.#payload, props })
    await this.#driver.deleteTopic(topic)
    return recordsPerSecond
  }

  async #write(job: object): Promise<string> {
    const config = join(this.#folder, 'job.json')
    await writeFile(config, JSON.stringify(job))
    return config
  }
}

function waitSeconds(seconds: number): () => Promise<void> {
  return () => new Promise(resolve => setTimeout(resolve, seconds * 1000))
}

function filesystem(path: string) {
  return { backend: 'filesystem', path }
}

function enterprise(registry: Registry | undefined) {
  return registry ? { enterprise: { schema_registry: registry } } : {}
}
