import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { S3Options } from '../src/storage/s3/s3-options.ts'
import type { KafkaDriver } from '../test/servers/driver.ts'
import type { KafkaServer } from '../test/servers/kafka.ts'
import { startS3 } from '../test/servers/versitygw.ts'
import { type FarLink, openFarLink } from './far-link.ts'
import { cli, measureProcess, median } from './measure.ts'
import type { Row } from './row.ts'

interface FarRun {
  wallMs: number
  peakBytes: number
  bytes: number
  requests: number
}

const ROUNDS = 3
const BYTES_PER_SECOND = 100e6
/** Round trips, and the share of the speed without a delay that must be left. */
const DISTANCES = [
  { ms: 30, least: 0.9 },
  { ms: 100, least: 0.8 },
]
const MAX_BACKUP_MB = 200
const MAX_RESTORE_MB = 250

/** Backups to a bucket and restores from it through a link with a delay, against the same link without one, taking turns. */
export async function measureFarStore(
  parts: { server: KafkaServer; driver: KafkaDriver; folder: string },
  topics: readonly { topic: string; compression: string }[],
  say: (text: string) => void,
): Promise<Row[]> {
  await using s3 = await startS3()
  await using link = await openFarLink(s3.port, BYTES_PER_SECOND)
  const bucket = { ...(await s3.makeBucket('bench')), endpoint: `http://127.0.0.1:${link.port}` }
  const rows: Row[] = []
  for (const { topic, compression } of topics) {
    const scenario = new FarScenario(parts, link, bucket, { topic, compression })
    say(`${topic} topic to a bucket behind a link with a delay`)
    rows.push(...(await scenario.backUp()))
    say(`${topic} topic from a bucket behind a link with a delay`)
    rows.push(...(await scenario.restore()))
  }
  return rows
}

class FarScenario {
  readonly #parts: { server: KafkaServer; driver: KafkaDriver; folder: string }
  readonly #link: FarLink
  readonly #bucket: S3Options
  readonly #topic: string
  readonly #compression: string
  #runs = 0

  constructor(
    parts: { server: KafkaServer; driver: KafkaDriver; folder: string },
    link: FarLink,
    bucket: S3Options,
    { topic, compression }: { topic: string; compression: string },
  ) {
    this.#parts = parts
    this.#link = link
    this.#bucket = bucket
    this.#topic = topic
    this.#compression = compression
  }

  async backUp(): Promise<Row[]> {
    const runs = await this.#takeTurns(() => this.#backUpTo(`${this.#topic}-${this.#runs++}`))
    return this.#rows(`backup of ${this.#topic}`, runs, MAX_BACKUP_MB)
  }

  async restore(): Promise<Row[]> {
    await this.#link.setRoundTrip(0)
    const prefix = `${this.#topic}-restored`
    await this.#backUpTo(prefix)
    const runs = await this.#takeTurns(() => this.#restoreFrom(prefix))
    return this.#rows(`restore of ${this.#topic}`, runs, MAX_RESTORE_MB)
  }

  async #takeTurns(run: () => Promise<Omit<FarRun, 'requests'>>): Promise<ReadonlyMap<number, FarRun[]>> {
    const runs = new Map<number, FarRun[]>([0, ...DISTANCES.map(({ ms }) => ms)].map(ms => [ms, []]))
    for (let round = 0; round < ROUNDS; round++) {
      for (const [ms, own] of runs) {
        await this.#link.setRoundTrip(ms)
        own.push({ ...(await run()), requests: await this.#link.countRequests() })
      }
    }
    return runs
  }

  #rows(name: string, runs: ReadonlyMap<number, FarRun[]>, limit: number): Row[] {
    const timeOf = (ms: number) => median((runs.get(ms) ?? []).map(run => run.wallMs))
    const all = [...runs.values()].flat()
    const bytes = all[0]?.bytes ?? 0
    const detail = Object.fromEntries([...runs.keys()].map(ms => [`ours_at_${ms}_ms_ms`, timeOf(ms)]))
    const fixed = { name, detail: { ...detail, bytes, rounds: ROUNDS } }
    const requests = median((runs.get(0) ?? []).map(run => run.requests))
    return [
      ...DISTANCES.map(({ ms, least }): Row => {
        const measure = `speed with round trips of ${ms} ms against none`
        return { ...fixed, measure, value: timeOf(0) / timeOf(ms), unit: 'ratio', least }
      }),
      {
        ...fixed,
        measure: 'peak memory',
        value: Math.max(...all.map(run => run.peakBytes)) / 1e6,
        unit: 'MB',
        limit,
      },
      { ...fixed, measure: 'requests to the store for each GB', value: requests / (bytes / 1e9), unit: 'requests' },
    ]
  }

  async #backUpTo(prefix: string): Promise<Omit<FarRun, 'requests'>> {
    const source = { bootstrap_servers: this.#parts.server.bootstrapServers, topics: { include: [this.#topic] } }
    const backup = { compression: this.#compression }
    const { stdout, ...run } = await this.#run('backup', { source, backup, storage: this.#storage(prefix) })
    return { ...run, bytes: JSON.parse(stdout).copied.bytes }
  }

  async #restoreFrom(prefix: string): Promise<Omit<FarRun, 'requests'>> {
    const target = { bootstrap_servers: this.#parts.server.bootstrapServers }
    const name = `far-${this.#topic}-${this.#runs++}`
    const restore = { topic_mapping: { [this.#topic]: name } }
    const { stdout, ...run } = await this.#run('restore', { target, restore, storage: this.#storage(prefix) })
    await this.#parts.driver.deleteTopic(name)
    return { ...run, bytes: JSON.parse(stdout).totals.bytes }
  }

  async #run(mode: 'backup' | 'restore', job: object): Promise<{ wallMs: number; peakBytes: number; stdout: string }> {
    const config = join(this.#parts.folder, 'far.json')
    await writeFile(config, JSON.stringify({ mode, backup_id: 'bench', ...job }))
    const args = [cli, mode, '--config', config, '--format', 'json']
    const { wallMs, peakBytes, stdout } = await measureProcess(process.execPath, args)
    return { wallMs, peakBytes, stdout }
  }

  #storage(prefix: string): object {
    const { bucket, endpoint, accessKeyId, secretAccessKey } = this.#bucket
    const login = { access_key_id: accessKeyId, secret_access_key: secretAccessKey }
    // As over https.
    return { backend: 's3', bucket, prefix, endpoint, ...login, sign_payload: false }
  }
}
