import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { hasCode } from '../../src/errors.ts'
import { openLocation, verifyBackup } from '../../src/index.ts'
import { readArchivedTopic } from '../oracle/archive.ts'
import { assertSameRecords, hashChain } from '../oracle/records.ts'
import { backUp, type JobSpec, jobText, withFolder } from './backup-job.ts'
import { useKafka } from './use-kafka.ts'

const never = new AbortController().signal
const child = join(import.meta.dirname, 'killed-backup-child.ts')
const cli = join(import.meta.dirname, '../../bin/kafka-backup.js')

describe('a killed backup loses nothing and repeats nothing', () => {
  const kafka = useKafka()

  test('at every call to the store, before it and after it', () =>
    withFolder(async folder => {
      await kafka.driver.createTopic('calls', { partitions: 2 })
      const seed = () => kafka.driver.seedBulk('calls', { count: 6000, partitions: 2, valueBytes: 500 })
      const spec = (path: string): JobSpec => ({
        servers: kafka.server.bootstrapServers,
        path,
        include: ['calls'],
        backup: { segment_bytes: '1MiB', compression: 'none' },
      })
      const base = join(folder, 'base')
      await seed()
      await backUp(spec(base))
      await seed()
      const expected = await kafka.driver.consume('calls', { isolation: 'read_committed' })
      const start = async (name: string) => {
        await cp(base, join(folder, name), { recursive: true })
        return spec(join(folder, name))
      }
      const counted = await runChild({ spec: await start('count'), nth: 0 })
      const calls = Number(counted.stdout)
      assert.ok(calls > 15, `the run makes ${calls} calls`)
      for (const moment of ['kill-before', 'kill-after']) {
        for (let nth = 1; nth <= calls; nth++) {
          const job = await start(`${moment}-${nth}`)
          const { signal, stderr } = await runChild({ spec: job, nth, moment })
          assert.equal(signal, 'SIGKILL', `${moment} ${nth}: ${stderr}`)
          await assertReadable(job.path)
          await backUp(job)
          await assertReadable(job.path)
          assertSameRecords(expected, await readArchivedTopic(job.path, 'b1', 'calls'))
        }
      }
    }))

  test('at random moments after it began to copy, one kill after the other on the same backup', () =>
    withFolder(async folder => {
      await kafka.driver.createTopic('moments', { partitions: 4 })
      await kafka.driver.seedBulk('moments', { count: 200_000, partitions: 4, valueBytes: 1000 })
      const path = join(folder, 'store')
      const config = join(folder, 'job.yaml')
      const backup = { segment_bytes: '1MiB', commit_interval: '1s', compression: 'none', memory_budget: '32MiB' }
      const spec = { servers: kafka.server.bootstrapServers, path, include: ['moments'], backup }
      await mkdir(path)
      await writeFile(config, jobText(spec))
      const kills = []
      for (let round = 0; round < 8; round++) {
        const delayMs = Math.floor(Math.random() * 400)
        const { signal } = await runProcess([cli, 'backup', '--config', config], delayMs)
        kills.push(`${delayMs} ms: ${signal ?? 'finished before'}`)
        await assertReadable(path)
      }
      await backUp(spec)
      await assertReadable(path)
      const digests = await kafka.driver.digest('moments', { isolation: 'read_committed' })
      const archived = await readArchivedTopic(path, 'b1', 'moments')
      assert.deepEqual(
        archived.map(hashChain),
        digests.map(digest => digest.sha256),
        kills.join(', '),
      )
      assert.ok(
        kills.some(line => line.endsWith('SIGKILL')),
        kills.join(', '),
      )
    }))
})

/** Whatever is committed is whole; nothing committed yet is fine, too. */
async function assertReadable(path: string): Promise<void> {
  try {
    const report = await verifyBackup(openLocation(path), 'b1', { deep: true, onProgress: () => undefined }, never)
    assert.deepEqual(report.problems, [])
  } catch (error) {
    if (!hasCode(error, 'BACKUP_NOT_FOUND')) throw error
  }
}

function runChild(task: { spec: JobSpec; nth: number; moment?: string }) {
  return runProcess([child, JSON.stringify(task)])
}

/** Ends the process so many milliseconds after it first says something, which is when the copying begins. */
async function runProcess(args: string[], killAfterMs?: number) {
  const running = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  running.stdout.on('data', chunk => {
    stdout += chunk
  })
  running.stderr.on('data', chunk => {
    if (stderr === '' && killAfterMs !== undefined) setTimeout(() => running.kill('SIGKILL'), killAfterMs).unref()
    stderr += chunk
  })
  const [code, signal] = await once(running, 'close')
  return { code, signal: signal as NodeJS.Signals | null, stdout, stderr }
}
