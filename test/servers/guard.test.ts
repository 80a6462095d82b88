import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { probeCluster } from './kafka-probe.ts'
import { runCommand } from './run-command.ts'

test('a broker and its data are gone within seconds after its test process is killed', async () => {
  const owner = startFixture('hold-kafka.ts')
  const held = (await readLine(owner)) as { pid: number; bootstrapServers: string[]; dataDirs: string[] }
  const port = Number(held.bootstrapServers[0]?.split(':')[1])
  const root = dirname(dirname(held.dataDirs[0] ?? ''))
  assert.equal((await probeCluster(port))?.brokers, 1)
  assert.ok(existsSync(root))

  owner.kill('SIGKILL')
  await waitFor(
    async () => (await probeCluster(port)) === undefined && !(await isRunning(held.pid)) && !existsSync(root),
  )
})

for (const ending of ['returns', 'throws']) {
  test(`a guarded process ends with its owner when the owner ${ending}`, async () => {
    const owner = startFixture('hold-process.ts', ending)
    const exited = once(owner, 'exit')
    const held = (await readLine(owner)) as { pid: number; folder: string }
    const [code] = await exited
    assert.equal(code, ending === 'throws' ? 1 : 0)
    await waitFor(async () => !(await isRunning(held.pid)) && !existsSync(held.folder))
  })
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const) {
  test(`a guarded process ends with its owner when the owner gets ${signal}`, async () => {
    const owner = startFixture('hold-process.ts', 'is signalled')
    const held = (await readLine(owner)) as { pid: number; folder: string }
    assert.ok(await isRunning(held.pid))
    owner.kill(signal)
    await waitFor(async () => !(await isRunning(held.pid)) && !existsSync(held.folder))
  })
}

function startFixture(file: string, ...args: string[]): ChildProcess & { stdout: Readable } {
  const path = join(import.meta.dirname, 'fixtures', file)
  return spawn(process.execPath, [path, ...args], { stdio: ['ignore', 'pipe', 'ignore'] })
}

async function readLine(child: { stdout: Readable }): Promise<unknown> {
  for await (const line of createInterface(child.stdout)) return JSON.parse(line)
  throw new Error('the fixture printed nothing')
}

/** A process that has ended and that nobody has waited for yet is not running. */
async function isRunning(pid: number): Promise<boolean> {
  const { stdout } = await runCommand('ps', ['-o', 'stat=', '-p', String(pid)])
  return stdout.trim() !== '' && !stdout.trim().startsWith('Z')
}

async function waitFor(check: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 5000
  while (!(await check())) {
    assert.ok(performance.now() < deadline, 'it is still there after 5 seconds')
    await sleep(50)
  }
}
