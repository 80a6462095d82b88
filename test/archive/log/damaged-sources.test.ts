import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openBackup } from '../../../src/archive/catalog.ts'
import { listSegments } from '../../../src/archive/indexes.ts'
import { listCommits } from '../../../src/archive/log/list-commits.ts'
import { firstCommitOf, readCommit } from '../../../src/archive/log/read-commit.ts'
import type { Segment } from '../../../src/archive/manifest.ts'
import { KafkaBackupError } from '../../../src/errors.ts'
import { LogRun } from '../../retention/log-world.ts'
import { World } from '../../retention/world.ts'
import { never } from '../sample-archive.ts'

const MINUTE = 60_000

/** The segments of each partition of the newest generation, and how many commits are read to open it. */
async function newestOf(world: World): Promise<{ partitions: (readonly Segment[])[]; commitsToRead: number }> {
  const generation = (await listCommits(world.storage, 'a', never)).at(-1) ?? assert.fail('there is no commit')
  const { commit } = await readCommit(world.storage, 'a', generation, never)
  const [topic] = (await openBackup(world.storage, 'a', never)).topics
  assert.ok(topic)
  const partitions = await Promise.all(topic.partitions.map(one => listSegments(world.storage, topic, one, never)))
  return { partitions, commitsToRead: generation - firstCommitOf(commit) + 1 }
}

/** Sixty rounds after the pack of the sixth was damaged. */
async function continueWith(damage: (world: World, key: string, piece: Segment) => void) {
  const world = new World()
  const run = await LogRun.open(world, 'a')
  await run.rounds(6, MINUTE)
  const { partitions } = await newestOf(world)
  const piece = partitions[0]?.at(-1) ?? assert.fail('partition 0 is empty')
  damage(world, piece.key, piece)
  await run.rounds(60, MINUTE)
  return { world, run, piece, ...(await newestOf(world)) }
}

const flipBit = ({ storage }: World, key: string, { piece }: Segment) => {
  const body = Buffer.from(storage.objects.get(key) ?? assert.fail())
  const at = (piece?.position ?? 0) + 20
  body[at] = (body[at] ?? 0) ^ 1
  storage.objects.set(key, body)
}

describe('a log with a damaged pack', () => {
  test('merges everything besides the damaged piece, rolls up, and warns once', async () => {
    const { run, piece, partitions, commitsToRead } = await continueWith(flipBit)
    assert.ok(commitsToRead <= 16, `${commitsToRead} commits to read`)
    const [first = [], second = []] = partitions
    assert.ok(first.some(({ key, piece: one }) => key === piece.key && one?.position === piece.piece?.position))
    for (const segments of [first, second]) assert.ok(segments.length <= 16, `${segments.length} segments`)
    assert.ok(!second.some(({ key }) => key === piece.key), 'the piece of the other partition is merged')
    assert.deepEqual(run.warnings, [
      `${piece.key}: its BLAKE3 hash is not the recorded one; small appends of orders/0 in it are not merged. ` +
        'Run `kafka-backup verify --deep` to see what is damaged, and `kafka-backup repair`',
    ])
  })

  test('does so without a pack that is missing, and names all partitions in one warning', async () => {
    const { run, piece, partitions, commitsToRead } = await continueWith(({ storage }, key) => {
      storage.objects.delete(key)
    })
    assert.ok(commitsToRead <= 16, `${commitsToRead} commits to read`)
    for (const segments of partitions) assert.ok(segments.length <= 16, `${segments.length} segments`)
    assert.equal(run.warnings.length, 1)
    assert.ok(run.warnings[0]?.startsWith(`${piece.key}: it is missing; small appends of orders/0, orders/1 in it`))
  })

  test('loses the last piece only of a pack that was cut short', async () => {
    const { run, piece, partitions } = await continueWith(({ storage }, key) => {
      storage.objects.set(key, (storage.objects.get(key) ?? assert.fail()).subarray(0, -1))
    })
    assert.deepEqual(
      partitions.map(segments => segments.some(({ key }) => key === piece.key)),
      [false, true],
    )
    assert.match(run.warnings.join(), /: it is shorter than recorded; small appends of orders\/1 in it are not merged/)
  })

  test('rolls up also where merging fails for another reason', async () => {
    const world = new World()
    const run = await LogRun.open(world, 'a')
    await run.rounds(3, MINUTE)
    const { readRange } = world.storage
    world.storage.readRange = async () => {
      throw new KafkaBackupError('STORAGE_UNAVAILABLE', 'the store is down')
    }
    let failures = 0
    for (let i = 0; i < 60; i++) {
      await run.rounds(1, MINUTE).catch((error: unknown) => {
        assert.match(String(error), /the store is down/)
        failures++
      })
    }
    world.storage.readRange = readRange
    const { commitsToRead } = await newestOf(world)
    assert.ok(failures > 0)
    assert.ok(commitsToRead <= 16, `${commitsToRead} commits to read`)
    assert.deepEqual(run.warnings, [])
  })
})
