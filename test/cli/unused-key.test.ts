import assert from 'node:assert/strict'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { realActions } from '../../src/cli/actions.ts'
import { main } from '../../src/cli/main.ts'
import { FakeIo } from './fake-io.ts'

const golden = join(import.meta.dirname, '../golden')

describe('a key that no backup needs', () => {
  let folder: string
  let key: string[]

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kafka-backup-unused-key-'))
    await cp(join(golden, 'v0.1.0'), join(folder, 'plain'), { recursive: true })
    await writeFile(join(folder, 'ops.key'), 'ab'.repeat(32))
    key = ['--key-file', join(folder, 'ops.key')]
  })
  after(() => rm(folder, { recursive: true, force: true }))

  const at = (): string[] => ['--path', join(folder, 'plain')]
  const run = async (args: readonly string[]) => {
    const io = new FakeIo()
    const code = await main([...args, '--no-progress'], io, realActions)
    return { code, stderr: io.stderr.text }
  }

  const backup = ['--backup-id', 'golden']
  const commands: Record<string, () => string[]> = {
    list: () => ['list', ...at()],
    describe: () => ['describe', ...at(), ...backup],
    verify: () => ['verify', ...at(), ...backup],
    'prune --dry-run': () => ['prune', ...at(), '--keep-last', '1', '--dry-run'],
    'copy --dry-run': () => [
      'copy',
      '--from',
      join(folder, 'plain'),
      '--to',
      join(folder, 'copies'),
      ...backup,
      '--dry-run',
    ],
    topics: () => ['topics', ...at(), ...backup, '--strimzi-cluster', 'c'],
    'schemas list': () => ['schemas', 'list', ...at(), ...backup],
  }

  for (const [name, args] of Object.entries(commands)) {
    test(`is reported once by ${name}`, async () => {
      const { stderr } = await run([...args(), ...key])
      assert.equal(stderr.match(/the backup `golden` is not encrypted: --key-file was not used/g)?.length, 1, stderr)
      assert.doesNotMatch((await run(args())).stderr, /was not used/)
    })
  }
})
