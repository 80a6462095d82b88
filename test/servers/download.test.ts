import assert from 'node:assert/strict'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { mustDownload } from './download.ts'
import { makeGuardedFolder } from './guard.ts'

let folder: Awaited<ReturnType<typeof makeGuardedFolder>>

describe('downloads', () => {
  beforeEach(async () => {
    folder = await makeGuardedFolder('download')
  })
  afterEach(() => folder.remove())

  /** A command that breaks off as often as stated, counts its runs and then prints what it fetched. */
  async function fetchThatBreaksOff(times: number): Promise<{ command: string; runs(): Promise<number> }> {
    const command = join(folder.path, 'fetch')
    const counter = join(folder.path, 'runs')
    const script = `#!/bin/sh
echo run >> ${counter}
[ "$(wc -l < ${counter})" -gt ${times} ] || { echo "unexpected EOF" >&2; exit 1; }
echo fetched "$@"
`
    await writeFile(command, script)
    await chmod(command, 0o755)
    return { command, runs: async () => (await readFile(counter, 'utf8')).trim().split('\n').length }
  }

  test('runs a command again that broke off twice, with growing pauses', async () => {
    const { command, runs } = await fetchThatBreaksOff(2)
    const failures: [message: string, pauseMs: number][] = []
    const onFailure = (error: Error, pauseMs: number) => failures.push([error.message.split('\n')[1] ?? '', pauseMs])
    assert.equal(await mustDownload(command, ['module'], { firstPauseMs: 10, onFailure }), 'fetched module\n')
    assert.equal(await runs(), 3)
    assert.deepEqual(failures, [
      ['unexpected EOF', 10],
      ['unexpected EOF', 20],
    ])
  })

  test('fails with what the command printed when it never succeeds', async () => {
    const { command, runs } = await fetchThatBreaksOff(100)
    const failing = mustDownload(command, [], { attempts: 3, firstPauseMs: 1, onFailure: () => {} })
    await assert.rejects(failing, /unexpected EOF[\s\S]*failed 3 times/)
    assert.equal(await runs(), 3)
  })

  test('does not repeat a command that does not exist', async () => {
    let failures = 0
    const missing = mustDownload(join(folder.path, 'missing'), [], { onFailure: () => failures++ })
    await assert.rejects(missing, { code: 'ENOENT' })
    assert.equal(failures, 0)
  })
})
