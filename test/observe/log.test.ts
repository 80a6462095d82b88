import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type LogOptions, openLog } from '../../src/observe/log.ts'
import { Redactor } from '../../src/observe/redact.ts'

function options(changed: Partial<LogOptions>): LogOptions & { lines: string[] } {
  const lines: string[] = []
  return {
    lines,
    level: 'info',
    format: 'text',
    destination: { write: line => lines.push(line) },
    now: () => Date.parse('2025-11-15T09:36:12.345Z'),
    redactor: new Redactor(['hunter22']),
    ...changed,
  }
}

test('a line of text is the level and the message', async () => {
  const log = options({})
  ;(await openLog(log)).write('warn', 'orders/3 is slow', { topic: 'orders' })
  assert.deepEqual(log.lines, ['warning: orders/3 is slow\n'])
})

test('a line of text begins with the time where that is asked for', async () => {
  const log = options({ hasTimes: true })
  ;(await openLog(log)).write('info', 'committed')
  assert.deepEqual(log.lines, ['2025-11-15T09:36:12.345Z info: committed\n'])
})

test('a line of JSON has level, time, message and fields, and ends with a newline', async () => {
  const log = options({ format: 'json' })
  ;(await openLog(log)).write('warn', 'a gap', { topic: 'orders', from: 12n, to: null })
  assert.equal(log.lines.length, 1)
  assert.match(log.lines[0] ?? '', /^\{.*\}\n$/)
  assert.deepEqual(JSON.parse(log.lines[0] ?? ''), {
    level: 'warn',
    time: '2025-11-15T09:36:12.345Z',
    topic: 'orders',
    from: 12,
    to: null,
    msg: 'a gap',
  })
})

test('levels above the one asked for are not written', async () => {
  for (const format of ['text', 'json'] as const) {
    const log = options({ format, level: 'warn' })
    const opened = await openLog(log)
    for (const level of ['error', 'warn', 'info', 'debug'] as const) opened.write(level, 'x')
    assert.equal(log.lines.length, 2, format)
    assert.deepEqual([opened.has('error'), opened.has('warn'), opened.has('info')], [true, true, false])
  }
})

test('no secret reaches a line, in the message or in a field', async () => {
  for (const format of ['text', 'json'] as const) {
    const log = options({ format })
    const opened = await openLog(log)
    opened.write('error', 'login with hunter22 failed', {
      password: 'abc',
      detail: 'hunter22',
      deep: [{ x: 'hunter22' }],
    })
    assert.match(log.lines[0] ?? '', /login with \[redacted\] failed/)
    assert.doesNotMatch(log.lines.join(''), /hunter22|abc/)
  }
})

test('a secret that becomes known while the log is open is hidden from then on', async () => {
  const log = options({})
  const opened = await openLog(log)
  log.redactor.add(['late-secret'])
  opened.write('info', 'has late-secret')
  assert.deepEqual(log.lines, ['info: has [redacted]\n'])
})

test('a line break in a message does not begin another entry', async () => {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  const log = await openLog({ level: 'info', format: 'text', destination, now: () => 0, redactor: new Redactor() })
  log.write('info', 'group a\nerror: all is lost')
  assert.equal(lines.join(''), 'info: group a\n  error: all is lost\n')
})
