import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hasCode, KafkaBackupError } from '../../src/errors.ts'
import { runWatched } from '../../src/library/run.ts'

const warning = { type: 'warning', message: 'of the work' } as const

describe('a call of the library', () => {
  test('that is aborted ends as INTERRUPTED, with the reason as its cause and what is left as its help', async () => {
    const controller = new AbortController()
    const call = runWatched({ signal: controller.signal }, 'Half of it is there.', (_, signal) => untilAborted(signal))
    const reason = new Error('the user left')
    controller.abort(reason)
    await assert.rejects(call, (error: unknown) => {
      assert.ok(hasCode(error, 'INTERRUPTED'))
      assert.deepEqual(
        [error.message, error.cause, error.help],
        ['interrupted: the user left', reason, 'Half of it is there.'],
      )
      return true
    })
  })

  test('does not begin when its signal was aborted before', async () => {
    let hasBegun = false
    const call = runWatched({ signal: AbortSignal.abort('no') }, '', async () => {
      hasBegun = true
    })
    await assert.rejects(call, (error: unknown) => hasCode(error, 'INTERRUPTED') && error.message === 'interrupted: no')
    assert.equal(hasBegun, false)
  })

  test('that was aborted and found something worse on its way tells that', async () => {
    const controller = new AbortController()
    const call = runWatched({ signal: controller.signal }, '', async () => {
      controller.abort()
      throw new KafkaBackupError('WRITER_CONFLICT', 'another was faster')
    })
    await assert.rejects(call, (error: unknown) => hasCode(error, 'WRITER_CONFLICT'))
  })

  test('fails with a KafkaBackupError whatever was thrown', async () => {
    const call = runWatched({}, '', async () => {
      throw new TypeError('x is not a function')
    })
    await assert.rejects(call, (error: unknown) => hasCode(error, 'INTERNAL') && error.cause instanceof TypeError)
  })

  test('whose listener throws is ended in order and tells the error of the listener', async () => {
    const bug = new RangeError('a bug of the listener')
    const onProgress = () => {
      throw bug
    }
    const isBug = (error: unknown) => hasCode(error, 'INTERRUPTED') && error.cause === bug
    const whileWorking = runWatched({ onProgress }, '', async (tell, signal) => {
      tell(warning)
      await untilAborted(signal)
    })
    await assert.rejects(whileWorking, isBug)
    const atTheEnd = runWatched({ onProgress }, '', async tell => tell(warning))
    await assert.rejects(atTheEnd, isBug)
  })

  test('hands over its events and its result', async () => {
    const events: unknown[] = []
    const result = await runWatched({ onProgress: event => events.push(event) }, '', async tell => {
      tell(warning)
      return 7
    })
    assert.deepEqual([result, events], [7, [warning]])
  })
})

function untilAborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  if (signal.aborted) reject(signal.reason)
  signal.addEventListener('abort', () => reject(signal.reason))
  return promise
}
