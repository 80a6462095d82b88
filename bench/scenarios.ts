import { randomBytes } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { S3Options } from '../src/storage/s3/s3-options.ts'
import type { KafkaServer } from '../test/servers/kafka.ts'
import { SMALL_PARTITIONS } from './cluster.ts'
import { cli, type Measured, measureProcess, measureSilenced, median } from './measure.ts'
import type { Row } from './row.ts'

interface Run {
  wallMs: number
  peakBytes: number
  bytes: number
}

const ROUNDS = 5
const bareCodec = resolve(import.meta.dirname, 'bare-codec.ts')
const observedRun = resolve(import.meta.dirname, 'observed-run.ts')

export class Scenarios {
  readonly #server: KafkaServer
  readonly #folder: string

  constructor(server: KafkaServer, folder: string) {
    this.#server = server
    this.#folder = folder
  }

  /** Against kcat on the same topic, taking turns so that both meet the same machine. */
  async againstKcat(topic: string, compression: string, limit: number): Promise<Row[]> {
    const kcat: number[] = []
    const ours: Run[] = []
    const bare: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      kcat.push((await this.#kcat(topic)).wallMs)
      const run = await this.#backUp(topic, compression)
      ours.push(run)
      bare.push(await this.#bareCopy(run.bytes))
    }
    const wallMs = median(ours.map(run => run.wallMs))
    const peakMb = Math.max(...ours.map(run => run.peakBytes)) / 1e6
    const bytes = ours[0]?.bytes ?? 0
    const name = `${topic}, compression ${compression}`
    const detail = { ours_ms: wallMs, kcat_ms: median(kcat), bare_copy_ms: median(bare), bytes, rounds: ROUNDS }
    const observed = await this.#observe(topic, compression)
    const waiting = observed.storageMs / observed.wallMs
    return [
      { name, measure: 'wall time against kcat', value: wallMs / median(kcat), unit: 'ratio', limit, detail },
      { name, measure: 'share of a bare loopback copy', value: median(bare) / wallMs, unit: 'ratio', detail },
      {
        name,
        measure: 'time with a call to the store under way, against wall time',
        value: waiting,
        unit: 'ratio',
        detail,
      },
      { name, measure: 'peak memory', value: peakMb, unit: 'MB', limit: 200, detail },
    ]
  }

  async memoryGrowth(topic: string, larger: string): Promise<Row> {
    const peak = async (name: string) => {
      const runs = [
        await this.#backUp(name, 'none'),
        await this.#backUp(name, 'none'),
        await this.#backUp(name, 'none'),
      ]
      return median(runs.map(run => run.peakBytes))
    }
    const [small, large] = [await peak(topic), await peak(larger)]
    const detail = { small_mb: small / 1e6, large_mb: large / 1e6 }
    return {
      name: `${larger} against ${topic}`,
      measure: 'peak memory of a topic four times larger',
      value: large / small,
      unit: 'ratio',
      limit: 1.1,
      detail,
    }
  }

  async requestsPerPartition(topic: string): Promise<Row> {
    const { requests, wallMs } = await this.#observe(topic, 'auto')
    const value = requests / SMALL_PARTITIONS
    const detail = { requests, ours_ms: wallMs }
    return {
      name: `${SMALL_PARTITIONS} partitions of 10 records`,
      measure: 'Kafka requests in all',
      value,
      unit: 'requests/partition',
      limit: 3,
      detail,
    }
  }

  /** The same backup to a bucket and to a folder, taking turns. The store runs on this machine and shares its cores. */
  async toBucket(topic: string, compression: string, bucket: S3Options): Promise<Row[]> {
    let runs = 0
    // A prefix of its own for each, so that none finds an earlier backup.
    const storage = () => ({
      backend: 's3',
      bucket: bucket.bucket,
      prefix: `run-${runs++}`,
      endpoint: bucket.endpoint,
      access_key_id: bucket.accessKeyId,
      secret_access_key: bucket.secretAccessKey,
      // As over https.
      sign_payload: false,
    })
    const toFolder: number[] = []
    const toBucket: Run[] = []
    for (let round = 0; round < ROUNDS; round++) {
      toFolder.push((await this.#backUp(topic, compression)).wallMs)
      toBucket.push(await this.#backUp(topic, compression, storage()))
    }
    const observed = await this.#observe(topic, compression, storage())
    const wallMs = median(toBucket.map(run => run.wallMs))
    const peakMb = Math.max(...toBucket.map(run => run.peakBytes)) / 1e6
    const bytes = toBucket[0]?.bytes ?? 0
    const detail = { ours_ms: wallMs, folder_ms: median(toFolder), bytes, rounds: ROUNDS }
    const ratio = { name: `${topic}, to an S3 bucket`, unit: 'ratio', detail } as const
    return [
      { ...ratio, measure: 'wall time against a folder', value: wallMs / median(toFolder) },
      {
        ...ratio,
        measure: 'time with a call to the store under way, against wall time',
        value: observed.storageMs / observed.wallMs,
      },
      { ...ratio, measure: 'peak memory', value: peakMb, unit: 'MB', limit: 200 },
    ]
  }

  /** The same backup encrypted and not, taking turns. */
  async encrypted(topic: string, compression: string, limit: number, rounds = ROUNDS): Promise<Row[]> {
    const keyFile = join(this.#folder, 'backup.key')
    await writeFile(keyFile, randomBytes(32))
    const encryption = { recipients: [{ key_file: keyFile }] }
    const plain: number[] = []
    const encrypted: Run[] = []
    for (let round = 0; round < rounds; round++) {
      plain.push((await this.#backUp(topic, compression)).wallMs)
      encrypted.push(await this.#backUp(topic, compression, undefined, { encryption }))
    }
    const wallMs = median(encrypted.map(run => run.wallMs))
    const peakMb = Math.max(...encrypted.map(run => run.peakBytes)) / 1e6
    const detail = { encrypted_ms: wallMs, plain_ms: median(plain), bytes: encrypted[0]?.bytes ?? 0, rounds }
    const name = `${topic}, encrypted`
    return [
      { name, measure: 'wall time against no encryption', value: wallMs / median(plain), unit: 'ratio', limit, detail },
      { name, measure: 'peak memory', value: peakMb, unit: 'MB', limit: 200, detail },
    ]
  }

  /**
   * In the backup, against `kcat | grep` on the topic itself, which must find the same number, and against a loop that only unpacks
   * the same batches, taking turns.
   */
  async searchAgainstGrep(topic: string, text: string, least: number): Promise<Row[]> {
    const { bytes } = await this.#backUp(topic, 'auto')
    const place = ['--path', join(this.#folder, 'store'), '--backup-id', 'bench']
    const args = [cli, 'search', ...place, '--text', text, '--count', '--format', 'json', '--quiet']
    const kcat = `kcat -C -e -q -b ${this.#server.bootstrapServers.join()} -t ${topic} | grep -a -c -F ${text}`
    const grep: number[] = []
    const bare: number[] = []
    const ours: Measured[] = []
    for (let round = 0; round < ROUNDS; round++) {
      bare.push((await measureProcess(process.execPath, [bareCodec, join(this.#folder, 'store')])).wallMs)
      const { wallMs, stdout } = await measureProcess('sh', ['-c', kcat])
      grep.push(wallMs)
      ours.push(await measureProcess(process.execPath, args))
      const found = JSON.parse(ours.at(-1)?.stdout ?? '').found
      if (found !== Number(stdout) || found === 0) throw new Error(`search has found ${found} records, grep ${stdout}`)
    }
    const wallMs = median(ours.map(run => run.wallMs))
    const peakMb = Math.max(...ours.map(run => run.peakBytes)) / 1e6
    const detail = { ours_ms: wallMs, grep_ms: median(grep), bare_ms: median(bare), bytes, rounds: ROUNDS }
    const name = `text in the ${topic} topic`
    const measure = 'times as fast as kcat and grep on the live topic'
    const bareMeasure = 'wall time against a loop that only unpacks the same batches'
    return [
      { name, measure, value: median(grep) / wallMs, unit: 'ratio', least, detail },
      { name, measure: bareMeasure, value: wallMs / median(bare), unit: 'ratio', detail },
      { name, measure: 'peak memory', value: peakMb, unit: 'MB', limit: 250, detail },
    ]
  }

  #kcat(topic: string): Promise<Measured> {
    return measureSilenced(`kcat -C -e -q -b ${this.#server.bootstrapServers.join()} -t ${topic}`)
  }

  /** The program as users run it. */
  async #backUp(topic: string, compression: string, storage?: object, more: object = {}): Promise<Run> {
    const config = await this.#writeJob(topic, compression, storage, more)
    const args = [cli, 'backup', '--config', config, '--format', 'json']
    const { wallMs, peakBytes, stdout } = await measureProcess(process.execPath, args)
    return { wallMs, peakBytes, bytes: JSON.parse(stdout).copied.bytes }
  }

  /** The same backup through the library, which can tell its requests and its time with the store. */
  async #observe(
    topic: string,
    compression: string,
    storage?: object,
  ): Promise<{ wallMs: number; requests: number; storageMs: number }> {
    const args = [observedRun, await this.#writeJob(topic, compression, storage)]
    return JSON.parse((await measureProcess(process.execPath, args)).stdout)
  }

  /** Into a place without an earlier backup. */
  async #writeJob(topic: string, compression: string, storage?: object, more: object = {}): Promise<string> {
    const path = join(this.#folder, 'store')
    const config = join(this.#folder, 'job.json')
    await rm(path, { recursive: true, force: true })
    const source = { bootstrap_servers: this.#server.bootstrapServers, topics: { include: [topic] } }
    const job = { mode: 'backup', backup_id: 'bench', source, storage: storage ?? { backend: 'filesystem', path } }
    await writeFile(config, JSON.stringify({ ...job, ...more, backup: { compression } }))
    return config
  }

  async #bareCopy(bytes: number): Promise<number> {
    const folder = join(this.#folder, 'bare')
    await mkdir(folder, { recursive: true })
    const script = join(import.meta.dirname, 'loopback-copy.ts')
    const { wallMs } = await measureProcess(process.execPath, [script, String(bytes), folder])
    await rm(folder, { recursive: true })
    return wallMs
  }
}
