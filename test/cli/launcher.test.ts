import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const launcher = fileURLToPath(new URL('../../kafka-backup', import.meta.url))

/** Stands in for npm: counts its runs, talks on standard output, and leaves a node that shows its arguments. */
const npm = `#!/bin/sh
echo "npm says $*"
echo run >>runs
[ -e fail ] && exit 7
sleep 0.2
mkdir -p node_modules/.bin
printf '#!/bin/sh\\necho "$@"\\n' >node_modules/.bin/node
chmod +x node_modules/.bin/node
`

let folder = ''
let root = ''

describe('the launcher', () => {
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'kafka-backup-launcher-'))
    root = join(folder, 'the checkout')
    mkdirSync(join(folder, 'bin'))
    mkdirSync(root)
    cpSync(launcher, join(root, 'kafka-backup'))
    writeFileSync(join(root, 'package-lock.json'), '{}')
    writeFileSync(join(folder, 'bin', 'npm'), npm)
    chmodSync(join(folder, 'bin', 'npm'), 0o755)
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  function launch(args: string[], { file = join(root, 'kafka-backup'), cwd = '/' } = {}) {
    const env = { ...process.env, PATH: `${join(folder, 'bin')}:${process.env.PATH}`, CDPATH: folder }
    return new Promise<{ code: number; out: string; err: string }>(resolve => {
      execFile(file, args, { cwd, env }, (error, out, err) =>
        resolve({ code: error ? Number(error.code) : 0, out, err }),
      )
    })
  }

  function installs(): number {
    return readFileSync(join(root, 'runs'), 'utf8').trim().split('\n').length
  }

  test('the first start installs dependencies, reports it on standard error only, and passes the arguments on', async () => {
    const { code, out, err } = await launch(['list', '--path', 'a b'])
    assert.equal(code, 0)
    assert.equal(out, `${root}/src/cli/bin.ts list --path a b\n`)
    assert.match(err, /^kafka-backup: installing dependencies\nnpm says install /)
  })

  test('later starts install and print nothing', async () => {
    await launch([])
    const { out, err } = await launch(['x'])
    assert.deepEqual({ out, err }, { out: `${root}/src/cli/bin.ts x\n`, err: '' })
    assert.equal(installs(), 1)
  })

  test('installs again when package-lock.json is newer', async () => {
    await launch([])
    const later = Date.now() / 1000 + 60
    utimesSync(join(root, 'package-lock.json'), later, later)
    await launch([])
    assert.equal(installs(), 2)
  })

  test('accepts dependencies that npm installed', async () => {
    await launch([])
    rmSync(join(root, 'node_modules', '.installed'))
    writeFileSync(join(root, 'node_modules', '.package-lock.json'), '{}')
    await launch([])
    assert.equal(installs(), 1)
  })

  test('works through absolute and relative symbolic links, from any folder', async () => {
    mkdirSync(join(folder, 'links'))
    symlinkSync(join(root, 'kafka-backup'), join(folder, 'links', 'one'))
    symlinkSync('one', join(folder, 'links', 'two'))
    for (const [file, cwd] of [
      [join(folder, 'links', 'two'), '/'],
      ['./two', join(folder, 'links')],
      ['links/two', folder],
      ['./kafka-backup', root],
    ] as const) {
      const { out } = await launch(['x'], { file, cwd })
      assert.equal(out, `${root}/src/cli/bin.ts x\n`, file)
    }
  })

  test('concurrent starts install once', async () => {
    const results = await Promise.all([1, 2, 3].map(() => launch(['x'])))
    for (const { code, out } of results) assert.deepEqual({ code, out }, { code: 0, out: `${root}/src/cli/bin.ts x\n` })
    assert.equal(installs(), 1)
  })

  test('takes over the lock of a dead process', async () => {
    mkdirSync(join(root, '.kafka-backup', 'installing'), { recursive: true })
    writeFileSync(join(root, '.kafka-backup', 'installing', 'pid'), '999999999')
    assert.equal((await launch(['x'])).code, 0)
  })

  test('fails if the installation fails, and the next start retries it', async () => {
    writeFileSync(join(root, 'fail'), '')
    const { code, out } = await launch(['x'])
    assert.deepEqual({ code, out }, { code: 7, out: '' })
    rmSync(join(root, 'fail'))
    assert.equal((await launch(['x'])).code, 0)
  })
})
