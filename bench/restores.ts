import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openBackup } from '../src/archive/catalog.ts'
import { openLocation } from '../src/wiring.ts'
import type { KafkaDriver } from '../test/servers/driver.ts'
import type { KafkaServer } from '../test/servers/kafka.ts'
import { cli, measureProcess, median } from './measure.ts'
import { runPerfTool } from './perf-tool.ts'
import type { Row } from './row.ts'

interface Restored {
  wallMs: number
  peakBytes: number
  records: number
  bytes: number
  rebuilt: number
}

const ROUNDS = Number(process.env.R ?? 3)
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
    for (let round = 0; round < ROUNDS; round++) {
      const run = await this.#restore(path, topic)
      ours.push(run)
      theirs.push(await this.#produce(run.records, props))
    }
    const wallMs = median(ours.map(run => run.wallMs))
    const [{ records = 0, bytes = 0 } = {}] = ours
    const perSecond = (records / wallMs) * 1000
    const detail = { ours_ms: wallMs, records, bytes, perf_records_per_second: median(theirs), rounds: ROUNDS }
    const name = `restore of ${topic}`
    const value = perSecond / median(theirs)
    const how = Object.keys(props).length > 0 ? 'with the same settings' : 'with its default settings'
    const peakMb = Math.max(...ours.map(run => run.peakBytes)) / 1e6
    return [
      { name, measure: `throughput against kafka-producer-perf-test ${how}`, value, unit: 'ratio', least, detail },
      { name, measure: 'peak memory', value: peakMb, unit: 'MB', limit: MAX_MB, detail },
    ]
  }

  /** A window that cuts a batch at each end of each partition, against a restore of everything, taking turns. */
  async withWindow(topic: string): Promise<Row> {
    const path = await this.#backUp(topic)
    const window = await this.#windowOf(path)
    const whole: Restored[] = []
    const cut: Restored[] = []
    for (let round = 0; round < ROUNDS; round++) {
      whole.push(await this.#restore(path, topic))
      cut.push(await this.#restore(path, topic, window))
    }
    const [ours, plain] = [median(cut.map(run => run.wallMs)), median(whole.map(run => run.wallMs))]
    const [{ records = 0, rebuilt = 0 } = {}] = cut
    const detail = { ours_ms: ours, plain_ms: plain, records, of_records: whole[0]?.records ?? 0, cut_batches: rebuilt }
    return {
      name: `restore of ${topic} with a time window`,
      measure: 'wall time against a restore of everything',
      value: ours / plain,
      unit: 'ratio',
      limit: 1.2,
      detail,
    }
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

  /** A little inside of the times of the backup, so that nearly all of it is restored. */
  async #windowOf(path: string): Promise<Record<string, number>> {
    const { topics } = await openBackup(openLocation(path), 'bench', new AbortController().signal)
    const partitions = topics.flatMap(topic => topic.partitions)
    const first = Math.max(...partitions.map(one => Number(one.first_timestamp)))
    const last = Math.min(...partitions.map(one => Number(one.last_timestamp)))
    const margin = (last - first) / 1000
    return { time_window_start: Math.round(first + margin), time_window_end: Math.round(last - margin) }
  }

  async #backUp(topic: string): Promise<string> {
    const path = join(this.#folder, `restore-${topic}`)
    const source = { bootstrap_servers: this.#server.bootstrapServers, topics: { include: [topic] } }
    const config = await this.#write({ mode: 'backup', backup_id: 'bench', source, storage: filesystem(path) })
    await measureProcess(process.execPath, [cli, 'backup', '--config', config])
    return path
  }

  /** The program as users run it. */
  async #restore(path: string, topic: string, choice: object = {}): Promise<Restored> {
    const name = `restored-${this.#count++}`
    const target = { bootstrap_servers: this.#server.bootstrapServers }
    const restore = { topic_mapping: { [topic]: name }, ...choice }
    const config = await this.#write({
      mode: 'restore',
      backup_id: 'bench',
      target,
      storage: filesystem(path),
      restore,
    })
    const args = [cli, 'restore', '--config', config, '--format', 'json']
    const { wallMs, peakBytes, stdout } = await measureProcess(process.execPath, args)
    const { records, bytes, rebuilt_batches: rebuilt } = JSON.parse(stdout).totals
    await this.#driver.deleteTopic(name)
    return { wallMs, peakBytes, records, bytes, rebuilt }
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

function filesystem(path: string) {
  return { backend: 'filesystem', path }
}
