import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Actions } from '../../src/cli/actions.ts'
import { main } from '../../src/cli/main.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import type { OffsetsSession } from '../../src/jobs/offsets.ts'
import { backupReport, fakeActions } from './fake-actions.ts'
import { FakeIo } from './fake-io.ts'

const backup = ['backup', '--config', 'job.yaml']

/** A run that ends as told once its signal is aborted; `started` resolves when it waits. */
function openRun(end: (reason: unknown) => Promise<typeof backupReport>) {
  const started = Promise.withResolvers<void>()
  const runBackupJob: Actions['runBackupJob'] = (_job, _hooks, signal) =>
    new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => end(signal.reason).then(resolve, reject))
      started.resolve()
    })
  return { started: started.promise, actions: fakeActions({ runBackupJob }) }
}

for (const [name, code, error] of [
  ['SIGINT', 130, 'INTERRUPTED'],
  ['SIGTERM', 143, 'TERMINATED'],
] as const) {
  test(`the first ${name} lets the run finish its current work, then exits ${code}`, async () => {
    const io = new FakeIo()
    const { started, actions } = openRun(reason => Promise.reject(reason))
    const ended = main(backup, io, actions)
    await started
    io.signal(name)
    assert.equal(io.stderr.text, 'finishing current work; press Ctrl-C again to stop now\n')
    assert.equal(await ended, code)
    assert.match(
      io.stderr.text,
      new RegExp(`error: interrupted by ${name}\nhelp: What was durable is committed.*\\(${error}\\)\n$`),
    )
    assert.deepEqual(io.exits, [])
  })

  test(`the second ${name} exits immediately with ${code}`, async () => {
    const io = new FakeIo({ columns: 80 })
    const { started, actions } = openRun(() => new Promise(() => undefined))
    void main(backup, io, actions)
    await started
    io.clock.pass(200)
    io.signal(name)
    io.clock.pass(1000)
    io.signal(name)
    assert.deepEqual(io.exits, [code])
    assert.ok(io.stderr.text.endsWith('\r\x1b[K'), 'the progress is cleared')
  })
}

test('two signals of one key press count once', async () => {
  const io = new FakeIo()
  const { started, actions } = openRun(reason => Promise.reject(reason))
  const ended = main(backup, io, actions)
  await started
  io.signal('SIGINT')
  io.clock.pass(5)
  io.signal('SIGINT')
  assert.deepEqual(io.exits, [])
  assert.equal(await ended, 130)
})

test('a connection that breaks because of the interruption is not reported as a failure', async () => {
  const io = new FakeIo()
  const broken = new KafkaBackupError('KAFKA_DISCONNECTED', 'socket closed')
  const { started, actions } = openRun(() => Promise.reject(broken))
  const ended = main([...backup, '--format', 'json'], io, actions)
  await started
  io.signal('SIGINT')
  assert.equal(await ended, 130)
  assert.equal(JSON.parse(io.stdout.text).error.code, 'INTERRUPTED')
})

test('a final failure during the interruption is reported instead of the interruption', async () => {
  const io = new FakeIo()
  const { started, actions } = openRun(() => Promise.reject(new KafkaBackupError('WRITER_CONFLICT', 'taken')))
  const ended = main(backup, io, actions)
  await started
  io.signal('SIGINT')
  assert.equal(await ended, 5)
})

test('a run that completes despite the signal exits 0 and shows its result', async () => {
  const io = new FakeIo()
  const { started, actions } = openRun(() => Promise.resolve(backupReport))
  const ended = main(backup, io, actions)
  await started
  io.signal('SIGTERM')
  assert.equal(await ended, 0)
  assert.match(io.stdout.text, /^Backed up orders/)
})

test('an interrupted read-only command does not mention commits', async () => {
  const io = new FakeIo()
  const started = Promise.withResolvers<void>()
  const listBackups: Actions['listBackups'] = (_, signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
      started.resolve()
    })
  const ended = main(['list', '--path', '/backups'], io, fakeActions({ listBackups }))
  await started.promise
  io.signal('SIGINT')
  assert.equal(await ended, 130)
  assert.match(io.stderr.text, /^stopping\nerror: interrupted by SIGINT\nhelp: Nothing was changed/)
})

/** What an interruption prints, of a command whose work ends only when it is interrupted. */
async function interrupted(
  argv: string[],
  actions: (hang: <T>(signal: AbortSignal) => Promise<T>) => Partial<Actions>,
) {
  const io = new FakeIo()
  const started = Promise.withResolvers<void>()
  const hang = <T>(signal: AbortSignal) =>
    new Promise<T>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
      started.resolve()
    })
  const ended = main(argv, io, fakeActions(actions(hang)))
  await started.promise
  io.signal('SIGINT')
  assert.equal(await ended, 130)
  return io.stderr.text
}

const offsetsWith =
  (session: (hang: <T>(signal: AbortSignal) => Promise<T>) => Partial<OffsetsSession>) =>
  (hang: <T>(signal: AbortSignal) => Promise<T>): Partial<Actions> => ({
    openOffsets: async () => ({ close: async () => undefined, ...session(hang) }) as OffsetsSession,
  })

const NOTHING_CHANGED = /help: Nothing was changed; run the same command again\. \(INTERRUPTED\)/

test('an interrupted dry run or read-only action says that nothing was changed', async () => {
  const cluster = ['--bootstrap-server', 'a:1']
  const texts = [
    await interrupted([...backup, '--dry-run'], hang => ({ dryRunJob: (_, signal) => hang(signal) })),
    await interrupted(['restore', '--config', 'restore.yaml', '--dry-run'], hang => ({
      dryRunRestoreJob: (_, signal) => hang(signal),
    })),
    await interrupted(
      ['offsets', 'list', ...cluster],
      offsetsWith(hang => ({ list: (_, signal) => hang(signal) })),
    ),
    await interrupted(['schemas', 'list', '--path', '/b', '--backup-id', 'a'], hang => ({
      listSchemasJob: (_side, _watch, signal) => hang(signal),
    })),
    await interrupted(['key', 'list', '--path', '/b', '--backup-id', 'a'], hang => ({
      listKeysJob: (_, signal) => hang(signal),
    })),
  ]
  for (const text of texts) assert.match(text, NOTHING_CHANGED)
})

test('an interrupted reset names the snapshot of the previous offsets', async () => {
  const reset = [
    'offsets',
    'reset',
    '--bootstrap-server',
    'a:1',
    '--path',
    '/b',
    '-g',
    'g',
    '--strategy',
    'latest',
    '--yes',
  ]
  const text = await interrupted(
    reset,
    offsetsWith(hang => ({
      reset: (_, onSnapshot, signal) => {
        onSnapshot('s1')
        return hang(signal)
      },
    })),
  )
  assert.match(text, /^the previous offsets are saved as snapshot s1$/m)
  assert.match(text, /help: Offsets that were set remain set/)
})

test('an interrupted rewrap does not promise that the previous keys still work', async () => {
  const rewrap = ['key', 'rewrap', '--path', '/b', '--backup-id', 'a', '--recipient-file', 'k']
  const text = await interrupted(rewrap, hang => ({ rewrapKeysJob: (_place, _request, signal) => hang(signal) }))
  assert.match(text, /help: Either the previous or the new keys can decrypt the backup/)
})

test('removes its signal listeners after the command', async () => {
  const io = new FakeIo()
  await main(backup, io, fakeActions())
  assert.equal(io.listeners.size, 0)
})
