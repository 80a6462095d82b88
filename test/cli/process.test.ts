import assert from 'node:assert/strict'
import { type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'

const bin = fileURLToPath(new URL('../../src/cli/bin.ts', import.meta.url))
const published = fileURLToPath(new URL('../../bin/kafka-backup.js', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'kafka-backup-process-'))
after(() => rmSync(folder, { recursive: true }))

/** Tells on standard error, at the end, which files were loaded. */
const spy = join(folder, 'spy.mjs')
writeFileSync(
  spy,
  `import { registerHooks } from 'node:module'
const loaded = []
registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
process.on('exit', () => process.stderr.write(loaded.join('\\n')))`,
)

function start(args: string[], options: SpawnOptions & { nodeArgs?: string[]; file?: string } = {}) {
  const { nodeArgs = [], file = bin, ...rest } = options
  return spawn(process.execPath, [...nodeArgs, file, ...args], { stdio: ['ignore', 'pipe', 'pipe'], ...rest })
}

async function run(...args: Parameters<typeof start>) {
  const child = start(...args)
  let out = ''
  let err = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (err += text))
  const [code] = await once(child, 'close')
  return { code, out, err }
}

describe('the process', () => {
  test('prints its result and nothing else, not even a Node.js warning', async () => {
    const { code, out, err } = await run(['list', '--path', folder])
    assert.deepEqual({ code, out, err }, { code: 0, out: `No backups at ${folder}.\n`, err: '' })
  })

  test('exits with the code of the error', async () => {
    const { code, err } = await run(['list', '--path', 'ftp://bucket'])
    assert.equal(code, 2)
    assert.match(err, /^error: .*\nhelp: .*\(LOCATION_INVALID\)\n$/)
  })

  test('tolerates a reader that closes the pipe', async () => {
    const child = start(['completion', 'bash'])
    child.stdout?.destroy()
    let err = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (err += text))
    const [code] = await once(child, 'close')
    assert.deepEqual({ code, err }, { code: 0, err: '' })
  })

  test('fails if its output cannot be written', async () => {
    const unwritable = openSync(spy, 'r')
    try {
      const { code, err } = await run(['completion', 'bash'], { stdio: ['ignore', unwritable, 'pipe'] })
      assert.equal(code, 1)
      assert.match(err, /^error: the output cannot be written: /)
    } finally {
      closeSync(unwritable)
    }
  })

  test('ends with all of its output although something keeps a connection and a timer', async () => {
    const keeper = join(folder, 'keeper.mjs')
    writeFileSync(
      keeper,
      `import { createServer } from 'node:net'
createServer().listen(0, '127.0.0.1')
setInterval(() => {}, 1000)
process.stdout.write('x'.repeat(1 << 20) + '\\n')`,
    )
    const nodeArgs = ['--import', pathToFileURL(keeper).href]
    const { code, out } = await run(['list', '--path', folder], { nodeArgs, timeout: 120_000 })
    assert.equal(code, 0)
    assert.equal(out.length, (1 << 20) + 1 + `No backups at ${folder}.\n`.length)
    const failed = await run(['list', '--path', 'ftp://bucket'], { nodeArgs, timeout: 120_000 })
    assert.equal(failed.code, 2)
  })

  test('does not succeed if it ends while it waits', async () => {
    const stuck = join(folder, 'stuck.mjs')
    writeFileSync(
      stuck,
      `import files from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
for (const name of ['access', 'open', 'readdir', 'readFile', 'realpath', 'stat']) files[name] = () => new Promise(() => {})
syncBuiltinESMExports()`,
    )
    const nodeArgs = ['--import', pathToFileURL(stuck).href]
    const { code, out, err } = await run(['list', '--path', folder], { nodeArgs })
    assert.deepEqual({ code, out }, { code: 1, out: '' })
    assert.match(err, /^error: the program ended before its work was done.*\nhelp: .*\(INTERNAL\)\n$/)
  })

  test('loads only the command line for its help', async () => {
    const { code, err } = await run(['backup', '--help'], { nodeArgs: ['--import', pathToFileURL(spy).href] })
    assert.equal(code, 0)
    assert.match(err, /commander/)
    assert.doesNotMatch(
      err,
      /node_modules\/(zod|yaml|pino|snappy|@)|src\/(kafka|storage|archive|config|backup|batch|jobs)/,
    )
  })

  test('loads no YAML library without a job file, and no logging library without JSON logs', async () => {
    const { err } = await run(['list', '--path', folder], { nodeArgs: ['--import', pathToFileURL(spy).href] })
    assert.match(err, /src\/archive\/list-backups/)
    assert.doesNotMatch(err, /node_modules\/(yaml|pino)\/|src\/config\//)
  })
})

describe('the published command', () => {
  test('names the required Node.js version and exits 1 on an older one', async () => {
    const older = `data:text/javascript,Object.defineProperty(process,'versions',{value:{node:'22.18.0'}})`
    const { code, out, err } = await run(['--version'], { file: published, nodeArgs: ['--import', older] })
    assert.equal(code, 1)
    assert.equal(out, '')
    assert.match(err, /^error: kafka-backup needs Node\.js 24 or later; this is v/)
  })
})
