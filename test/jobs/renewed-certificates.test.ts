import assert from 'node:assert/strict'
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { connect } from 'node:tls'
import { openConsole } from '../../src/jobs/serve-console.ts'
import { readTlsFiles } from '../../src/jobs/tls-files.ts'
import { openRegistryServer } from '../../src/registry/serve/open-registry-server.ts'
import { RegistryStore } from '../../src/registry/serve/registry-store.ts'
import { HandClock } from '../retention/world.ts'
import { type Identity, makeIdentity } from '../servers/certificates.ts'

const LOOK_MS = 30_000
let folder = ''
let [first, second]: Identity[] = []
const file = (name: string) => join(folder, name)
const paths = () => ({ cert: file('tls.crt'), key: file('tls.key') })

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'renewed-'))
  first = await makeIdentity(folder, 'first', { names: 'IP:127.0.0.1' })
  second = await makeIdentity(folder, 'second', { names: 'IP:127.0.0.1' })
})
after(() => rm(folder, { recursive: true }))

async function install(identity: Identity | undefined): Promise<void> {
  await copyFile(identity?.cert ?? '', paths().cert)
  await copyFile(identity?.key ?? '', paths().key)
}

/** The common name of the certificate that a new connection gets. */
function served(url: string): Promise<string> {
  const { hostname: host, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(port), rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN))
      socket.destroy()
    }).on('error', reject)
  })
}

/** Until it holds; the files are read while the clock stands still. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let i = 0; !(await holds()); i++) {
    // A minute at least, however slow the disk of a busy machine is.
    assert.ok(i < 60_000, 'it never came to hold')
    await setTimeout(1)
  }
}

interface Served {
  url: string
  close(): Promise<void>
}

const servers: Record<string, (clock: HandClock, onFailure: (error: unknown) => void) => Promise<Served>> = {
  'the console': (clock, onFailure) =>
    openConsole({ storages: [], host: '127.0.0.1', port: 0, allowedHosts: [], clock, onFailure, tls: paths() }),
  'the registry': async (clock, onFailure) => {
    const read = () => readTlsFiles(paths())
    const place = { store: new RegistryStore(), host: '127.0.0.1', port: 0 }
    return openRegistryServer({ ...place, tls: await read(), tlsSource: { read, clock, onFailure } })
  },
}

for (const [name, open] of Object.entries(servers)) {
  describe(`${name} with a certificate that is renewed`, () => {
    test('serves the new one without a restart, and the old one until it can be used', async () => {
      const clock = new HandClock()
      const failures: string[] = []
      await install(first)
      const server = await open(clock, error => failures.push(String(error)))
      try {
        assert.equal(await served(server.url), 'first')
        await install(second)
        clock.pass(LOOK_MS)
        await until(async () => (await served(server.url)) === 'second')
        // The key of another certificate: a renewal that is under way is not reported, one that stays so is, once.
        await copyFile(first?.key ?? '', paths().key)
        for (const reports of [0, 1, 1]) {
          const reads = clock.timers
          clock.pass(LOOK_MS)
          await until(async () => clock.timers === reads && failures.length >= reports)
          assert.equal(failures.length, reports)
          assert.equal(await served(server.url), 'second')
        }
        assert.match(failures[0] ?? '', /renewed certificate cannot be used, and the one before is served: /)
        await rm(paths().key)
        await writeFile(paths().cert, await readFile(first?.cert ?? ''))
        clock.pass(LOOK_MS)
        await copyFile(first?.key ?? '', paths().key)
        await until(async () => {
          clock.pass(LOOK_MS)
          return (await served(server.url)) === 'first'
        })
        assert.equal(failures.length, 1)
      } finally {
        await server.close()
      }
      assert.equal(clock.timers, 0)
    })

    for (const half of ['tls.crt', 'tls.key']) {
      test(`serves the old one while ${half} is empty, because it is being written`, async () => {
        const clock = new HandClock()
        const failures: string[] = []
        await install(first)
        const server = await open(clock, error => failures.push(String(error)))
        try {
          await writeFile(file(half), '')
          // Twice: the second look finds what the first has found, and reports it.
          for (const reports of [0, 1]) {
            const reads = clock.timers
            clock.pass(LOOK_MS)
            await until(async () => clock.timers === reads && failures.length >= reports)
            assert.equal(await served(server.url), 'first')
          }
          assert.match(failures.join(), new RegExp(`${half.replace('.', '\\.')} is not a PEM file`))
        } finally {
          await server.close()
        }
      })
    }
  })
}

test('an empty file of client CAs is refused: any client could connect', async () => {
  await install(first)
  await writeFile(file('ca.crt'), '')
  await assert.rejects(readTlsFiles({ ...paths(), ca: file('ca.crt') }), {
    code: 'USAGE',
    message: `--tls-ca ${file('ca.crt')} is not a PEM file`,
  })
})
