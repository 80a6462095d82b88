import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { cpuSecondsOf } from './cpu-seconds.ts'
import { testFlags } from './test-environment.ts'

/** Works until it has used so much CPU time, however busy the machine is. */
const work = 'const begun = process.cpuUsage(); while (process.cpuUsage(begun).user < 300_000);'

test('the CPU time of a process counts what its children used', () => {
  const before = cpuSecondsOf('self')
  spawnSync(process.execPath, ['-e', work])
  assert.ok(cpuSecondsOf('self') - before >= 0.29)
  assert.equal(cpuSecondsOf(2 ** 30), 0)
})

test('a process of tests reports for its file what it, its children and a server that works for it used', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kafka-backup-cpu-'))
  const server = spawn(process.execPath, ['-e', `process.stdin.on('data', () => { ${work}; console.log('done') })`])
  try {
    const script = `
      const { countCpuOf } = await import(${JSON.stringify(join(import.meta.dirname, 'cpu-seconds.ts'))})
      const stop = countCpuOf([${server.pid}])
      process.stdin.once('data', () => { stop(); ${work}; process.exit() })
      console.log('counting')`
    const env = { ...process.env, CPU_SECONDS_FOLDER: folder }
    const file = spawn(process.execPath, [...testFlags, '--input-type=module', '-e', script, 'a.test.ts'], { env })
    await once(file.stdout, 'data')
    server.stdin.write('work\n')
    await once(server.stdout, 'data')
    file.stdin.write('go on\n')
    await once(file, 'exit')
    const [name = ''] = readdirSync(folder)
    const report = JSON.parse(readFileSync(join(folder, name), 'utf8'))
    assert.equal(report.file, 'a.test.ts')
    assert.ok(report.seconds >= 0.58, `${report.seconds} s`)
  } finally {
    server.kill('SIGKILL')
    rmSync(folder, { recursive: true })
  }
})
