import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { makeGuardedFolder } from './guard.ts'
import { openMachineLock } from './machine-lock.ts'

let folder: Awaited<ReturnType<typeof makeGuardedFolder>>
let path: string

describe('the lock of the machine', () => {
  beforeEach(async () => {
    folder = await makeGuardedFolder('lock')
    path = join(folder.path, 'cache', 'lock')
  })
  afterEach(() => folder.remove())

  test('a second holder waits until the first releases the lock', async () => {
    const order: string[] = []
    const first = await openMachineLock(path)
    const waits = Promise.withResolvers<void>()
    const second = openMachineLock(path, waits.resolve).then(lock => {
      order.push('second has it')
      return lock
    })
    await waits.promise
    order.push('first releases it')
    await first.release()
    await (await second).release()
    assert.deepEqual(order, ['first releases it', 'second has it'])
  })

  test('the lock of a killed process is free', async () => {
    const script = `
    import { openMachineLock } from ${JSON.stringify(join(import.meta.dirname, 'machine-lock.ts'))}
    await openMachineLock(${JSON.stringify(path)})
    process.stdout.write('locked')
    setInterval(() => {}, 1000)`
    const holder = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(holder.stdout, 'data')
    let waited = 0
    const lock = openMachineLock(path, () => {
      waited++
      holder.kill('SIGKILL')
    })
    await (await lock).release()
    assert.equal(waited, 1)
  })
})
