import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { keptKey } from '../../src/archive/log/keys.ts'
import { readCommit } from '../../src/archive/log/read-commit.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { openLocation } from '../open-location.ts'
import { LogRun } from '../retention/log-world.ts'
import { HOUR, World } from '../retention/world.ts'
import { type KfakeServer, startKfake } from '../servers/kfake.ts'
import { type S3Server, startS3 } from '../servers/versitygw.ts'
import { callCli } from './call-cli.ts'

const never = new AbortController().signal
const HELD = 4
const NEWEST = 33
const RECORDS_OF_A_ROUND = 20

describe('damage of a log in a real store is reported, and no command removes what is still needed', () => {
  let folder: string
  let s3: S3Server
  let kafka: KfakeServer
  const earlier = { ...process.env }

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kafka-backup-test-'))
    await mkdir(join(folder, 'store'))
    ;[s3, kafka] = await Promise.all([startS3(), startKfake()])
    await s3.makeBucket('backups')
    process.env.AWS_ACCESS_KEY_ID = s3.credentials.accessKeyId
    process.env.AWS_SECRET_ACCESS_KEY = s3.credentials.secretAccessKey
  })
  after(async () => {
    process.env = earlier
    await Promise.all([s3.stop(), kafka.stop()])
    await rm(folder, { recursive: true, force: true })
  })

  const stores = [
    { name: 'a folder', pathOf: () => join(folder, 'store'), damage: 'deleted' },
    { name: 'a bucket', pathOf: () => `s3://backups/logs?endpoint=${s3.endpoint}`, damage: 'other bytes' },
  ] as const

  for (const { name, pathOf, damage } of stores) {
    test(`of ${name}, where an object is ${damage === 'deleted' ? damage : `replaced by ${damage}`}`, async () => {
      const path = pathOf()
      const storage = openLocation(path)
      const cli = new Commands(path, kafka.bootstrapServers, join(folder, `${damage}.json`))
      await grow(storage, cli)
      const { commit } = await readCommit(storage, 'a', NEWEST, never)
      const checkpoint = commit.checkpoint?.key ?? assert.fail()
      const rollup = commit.rollups[0]?.documents[0]?.key ?? assert.fail()
      const harm = (key: string) =>
        damage === 'deleted' ? storage.remove(key, never) : storage.replace(key, Buffer.from('other bytes'), never)

      for (const key of [rollup, checkpoint]) {
        const bytes = await storage.read(key, never)
        await harm(key)
        await assertReadAround(cli, key)
        const keys = await keysOf(storage)
        assert.match((await cli.run('prune', 0)).text, new RegExp(key))
        assert.deepEqual(await keysOf(storage), keys)
        if (key === rollup) await storage.replace(key, bytes, never)
      }

      // The checkpoint is still damaged: after the repair, the newest generation does not need it.
      assert.equal((await cli.run('repair', 0, '--yes')).json.generation, NEWEST + 1)
      assert.deepEqual((await cli.run('verify', 0)).json.problems, [])
      assert.equal(await cli.recordsOf(NEWEST), NEWEST_RECORDS)

      const kept = keptKey('a', HELD)
      const bytes = await storage.read(kept, never)
      await storage.replace(kept, Buffer.from('other bytes'), never)
      assert.deepEqual((await cli.run('verify', 0)).json.problems, [])
      await cli.run('describe', 3, '--generation', String(HELD))
      const { generations } = (await cli.run('list', 3)).json
      const held = generations.find((one: { generation: number }) => one.generation === HELD)
      assert.deepEqual([held?.code, generations[0].generation], ['ARCHIVE_DAMAGED', NEWEST + 1])
      assert.match((await cli.run('prune', 0)).text, new RegExp(kept))
      assert.equal(await cli.recordsOf(NEWEST + 1), NEWEST_RECORDS)
      await storage.replace(kept, bytes, never)
      assert.equal(await cli.recordsOf(HELD), HELD * RECORDS_OF_A_ROUND)
      await storage.close()
    })
  }
})

/** A prune commits a generation between two runs. */
const NEWEST_RECORDS = (NEWEST - 1) * RECORDS_OF_A_ROUND

/** A generation in `kept/`, commits from 17 on, a checkpoint of 20, and a roll-up behind it. */
async function grow(storage: Storage, cli: Commands): Promise<void> {
  const world = new World()
  await (await LogRun.open(world, 'a', storage)).rounds(20, HOUR / 6)
  await cli.run('hold', 0, '--generation', String(HELD))
  await cli.run('prune', 0)
  await (await LogRun.open(world, 'a', storage)).rounds(12, HOUR / 6)
  const keys = await keysOf(storage)
  assert.deepEqual(
    keys.filter(key => key.startsWith('a/kept/')),
    [keptKey('a', HELD)],
  )
}

async function keysOf(storage: Storage): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of storage.list('a/', never)) if (!key.startsWith('a/leases/')) keys.push(key)
  return keys.sort()
}

/** Every reader warns and continues, and `verify` and `repair` report the object. */
async function assertReadAround(cli: Commands, key: string): Promise<void> {
  const named = new RegExp(`^${key}: .*read instead`, 'm')
  assert.match((await cli.run('describe', 0)).json.warnings.join('\n'), named)
  const listed = (await cli.run('list', 0, '--limit', '2')).json
  assert.match(listed.warnings.join('\n'), named)
  assert.equal(listed.generations[0].records, NEWEST_RECORDS)
  assert.match((await cli.run('restore', 0)).json.warnings.join('\n'), named)
  for (const deep of [[], ['--deep']]) {
    const { problems, unreadable_generations } = (await cli.run('verify', 3, ...deep)).json
    assert.deepEqual([problems.map((one: { key: string }) => one.key), unreadable_generations], [[key], []])
  }
  const { needed, lost, lost_commits } = (await cli.run('repair', 3, '--dry-run')).json
  assert.deepEqual([needed, lost, lost_commits], [true, [], []])
}

/** The commands of the program over one location. */
class Commands {
  readonly #path: string
  readonly #servers: readonly string[]
  readonly #jobFile: string

  constructor(path: string, servers: readonly string[], jobFile: string) {
    this.#path = path
    this.#servers = servers
    this.#jobFile = jobFile
  }

  /** What a command prints, which has to end with this exit code. */
  async run(command: keyof typeof optionsOf, code: number, ...options: string[]) {
    const place = command === 'restore' ? ['--config', await this.#writeJob()] : ['--path', this.#path]
    const ran = await callCli([command, ...place, ...optionsOf[command], '--format', 'json', ...options])
    assert.equal(ran.code, code, `${command} ${options.join(' ')}: ${ran.stdout} ${ran.stderr}`)
    return { text: ran.stdout + ran.stderr, json: ran.stdout === '' ? {} : JSON.parse(ran.stdout) }
  }

  async recordsOf(generation: number): Promise<number> {
    return (await this.run('describe', 0, '--generation', String(generation))).json.totals.records
  }

  async #writeJob(): Promise<string> {
    const [, prefix, endpoint] = /^s3:\/\/backups\/(\w+)\?endpoint=(.*)$/.exec(this.#path) ?? []
    const storage = endpoint
      ? { backend: 's3', bucket: 'backups', prefix, endpoint }
      : { backend: 'filesystem', path: this.#path }
    const target = { bootstrap_servers: this.#servers }
    const job = {
      mode: 'restore',
      backup_id: 'a',
      target,
      storage,
      restore: { topics: { include: ['orders'] }, retention: 'hold' },
    }
    await writeFile(this.#jobFile, JSON.stringify(job))
    return this.#jobFile
  }
}

const backup = ['--backup-id', 'a']
const optionsOf = {
  list: ['--generations', ...backup],
  describe: backup,
  verify: backup,
  repair: backup,
  hold: backup,
  prune: ['--keep-generations', 'last=1', '--grace', '0s', '--yes'],
  restore: ['--dry-run'],
}
