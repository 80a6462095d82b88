import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { realActions } from '../../src/cli/actions.ts'
import { main } from '../../src/cli/main.ts'
import { checkpointOf, grownLog } from '../retention/log-world.ts'
import { FakeIo } from './fake-io.ts'

const RESULT = '/dev/termination-log'

/** Commands that read a generation, and what is behind the location and the backup on their command line. */
const commands: Record<string, string[]> = {
  cat: ['--topic', 'orders'],
  search: ['--topic', 'orders', '--key', 'a'],
  'search --count': ['--topic', 'orders', '--key', 'a', '--count'],
  export: ['--topic', 'orders', '--out', '-'],
  hold: [],
  topics: ['--strimzi-cluster', 'c'],
  // These fail because the backup has neither schemas nor groups.
  'schemas list': [],
  'schemas diff': ['--against-generation', '13'],
  'registry serve': ['--listen', '127.0.0.1:0'],
  'offsets plan': ['--group', 'g', '--strategy', 'from_backup', '--bootstrap-server', '127.0.0.1:1'],
}

/** Commands whose report has the warning. */
const reports = [['describe'], ['diff', '--from', '13'], ['list'], ['list', '--generations', '--limit', '3']] as const

describe('a damaged checkpoint that is read around', () => {
  let folder: string
  let warning: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kafka-backup-read-around-'))
    const world = await grownLog(13, 4)
    const damaged = await checkpointOf(world, 18)
    warning = `${damaged}: it is missing; `
    for (const [key, bytes] of world.storage.objects) {
      if (key === damaged) continue
      await mkdir(dirname(join(folder, key)), { recursive: true })
      await writeFile(join(folder, key), bytes)
    }
  })
  after(() => rm(folder, { recursive: true, force: true }))

  const run = async (name: string, more: readonly string[] = []) => {
    const io = new FakeIo({ env: { KAFKA_BACKUP_RESULT_FILE: RESULT } })
    const [command = '', ...action] = name.split(' ').filter(word => !word.startsWith('--'))
    const isAll = name === 'list' && more.length === 2
    const place = ['--path', folder, ...(isAll ? [] : ['--backup-id', 'a'])]
    await main([command, ...action, ...place, ...(commands[name] ?? []), ...more, '--no-progress'], io, realActions)
    return { stderr: io.stderr.text, stdout: io.stdout.text, warnings: JSON.parse(io.files.get(RESULT) ?? '').warnings }
  }

  for (const [name, ...more] of reports) {
    test(`is a warning of ${[name, ...more].join(' ')} in its report, and counts in its result file`, async () => {
      const { stdout, warnings } = await run(name, [...more, '--format', 'json'])
      assert.equal(stdout.split(warning).length, 2, stdout)
      assert.equal(warnings, 1)
    })
  }

  for (const name of Object.keys(commands)) {
    test(`is a warning of ${name} on standard error, and counts in its result file`, async () => {
      const { stderr, warnings } = await run(name)
      assert.equal(stderr.split(warning).length, 2, stderr)
      assert.equal(warnings, 1)
    })
  }
})
