import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { main } from '../../src/cli/main.ts'
import { type ConsoleServer, openConsoleServer } from '../../src/console/open-console-server.ts'
import { KafkaBackupError } from '../../src/errors.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { FakeIo } from '../cli/fake-io.ts'
import { makeIdentity } from '../servers/certificates.ts'
import { LARGE_BYTES, SCRIPT, SHOP } from './sample-backups.ts'
import { get, useConsole } from './use-console.ts'

const console_ = useConsole()

/** Every page, with a text that it must show. */
const pages: readonly (readonly [path: string, shows: RegExp])[] = [
  ['/', /shop/],
  ['/', /Last verification[\s\S]*never/],
  ['/at/0/shop', /Recovery window/],
  ['/at/0/shop', /aria-label="Restorable from [^"]+ \(generation 1\) to [^"]+ \(generation 2\), 1 gap"/],
  ['/at/0/shop', /2 generations; stored bytes grow to [^;]+; 2 gaps/],
  ['/at/0/shop', /<rect class="gap"[^>]*><title>Gap in orders\/0 from offset 40 \(/],
  ['/at/0/shop', /4 subjects, 5 versions[\s\S]*2 groups, 4 committed offsets/],
  ['/at/0/shop', /<dt>Verified<\/dt><dd>[^<]+, generation 2, no problems, every byte was read/],
  ['/at/0/sealed', /AES-256-GCM/],
  ['/at/0/shop/topics/orders', /lost these records/],
  ['/at/0/shop/topics/orders', /retention\.ms<[\s\S]*604800000<[\s\S]*set on the topic/],
  ['/at/0/shop/topics/events', /Incarnations/],
  ['/at/0/shop/topics/orders/records', /order-79/],
  ['/at/0/shop/topics/orders/records?partition=1&from=3', /order-3</],
  [
    '/at/0/shop/topics/orders/records?partition=0&since=1790004200000',
    /10 records, oldest first[\s\S]*?<tbody><tr><td[^>]*>0<\/td><td[^>]*><a[^>]*>70</,
  ],
  ['/at/0/shop/topics/orders/records?where=amount%3D3&header=trace%3Dt-3', /Found 2 records/],
  ['/at/0/shop/topics/orders/records/0/70', /customer-0/],
  ['/at/0/sealed/topics/payments/records/0/3', /PROTOBUF schema [\s\S]*order-3/],
  ['/at/0/shop/schemas', /customers-value/],
  ['/at/0/shop/schemas/subject?name=orders-value', /refers to customer version 1/],
  [
    '/at/0/shop/schemas/subject?name=orders-value',
    /aria-label="References of the schema"[\s\S]*<line class="edge"[\s\S]*>customer </,
  ],
  ['/at/0/shop/schemas/subject?name=orders-value&version=2&against=1', /class="added">\+ .*note/],
  ['/at/0/shop/schemas/subject?name=payments-value', /hl-comment/],
  ['/at/0/shop/groups', /mail&lt;b&gt;/],
  ['/at/0/shop/groups/group?name=billing', /<dt>Lag<\/dt><dd>55<[\s\S]*orders[\s\S]*>30</],
  ['/at/0/shop/restore?include=orders&rename=orders%3Dback', /topic_mapping:\n {4}orders: back/],
  ['/at/0/shop/restore', /restores no schemas.*<code>enterprise\.schema_registry<\/code>/],
  ['/at/0/sealed/restore', /the key of the encrypted backup/],
]

describe('every page', () => {
  test('shows what the backup has, with a strict policy and without inline code', async () => {
    for (const [path, shows] of pages) {
      const { status, text, headers } = await console_().get(path)
      assert.equal(status, 200, path)
      assert.match(text, shows, path)
      assert.match(
        headers.get('content-security-policy') ?? '',
        /^default-src 'none'; script-src 'self'; style-src 'self';/,
      )
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
      assert.equal(headers.get('cache-control'), 'no-store')
      assert.doesNotMatch(
        text,
        /<script(?! src="\/assets\/console\.js" defer><\/script>)|<style|\sstyle=|\son\w+=|https?:\/\//,
        path,
      )
    }
  })

  test('loads its style and its script from the console', async () => {
    for (const [name, type] of [
      ['console.css', 'text/css'],
      ['console.js', 'text/javascript'],
      ['icon.svg', 'image/svg+xml'],
    ]) {
      const { status, headers } = await console_().get(`/assets/${name}`)
      assert.deepEqual([status, headers.get('content-type')?.split(';')[0]], [200, type])
    }
  })
})

describe('hostile records', () => {
  test('show as text in lists and on their own page', async () => {
    for (const path of [
      '/at/0/shop/topics/hostile/records',
      ...[0, 1, 2, 3, 4, 5, 6, 7].map(at => `/at/0/shop/topics/hostile/records/0/${at}`),
    ]) {
      const { status, text } = await console_().get(path)
      assert.equal(status, 200, path)
      assert.doesNotMatch(text, /<script>|<img|<svg\/|<b>|\u202e/, path)
      assert.ok(!text.includes('\0') && !text.includes('\u001b'), path)
    }
    const { text } = await console_().get('/at/0/shop/topics/hostile/records/0/0')
    assert.ok(text.includes(SCRIPT.replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')))
  })

  test('of 20 MiB are cut on pages, and can be saved with all their bytes', async () => {
    const page = await console_().get('/at/0/shop/topics/hostile/records/0/2')
    assert.ok(page.text.length < 400_000, `${page.text.length} characters`)
    assert.match(page.text, /The first 4\.0 KiB of 20\.0 MiB/)
    const raw = await fetch(`${console_().url}/at/0/shop/topics/hostile/records/0/2/value`)
    assert.equal((await raw.arrayBuffer()).byteLength, LARGE_BYTES)
    assert.equal(raw.headers.get('content-type'), 'application/octet-stream')
    assert.equal(raw.headers.get('content-disposition'), 'attachment; filename="hostile-0-2.value"')
  })

  test('that are not UTF-8 show as hex', async () => {
    const { text } = await console_().get('/at/0/shop/topics/hostile/records/0/1')
    assert.match(text, /c3 28 a0 a1 3c 73/)
  })
})

test('the link to a record has the ID of its topic, and leads to it and to its bytes', async () => {
  const list = await console_().get('/at/0/shop/topics/payments/records')
  const [link = ''] = /\/at\/0\/shop\/topics\/payments%40\w{32}\/records\/0\/11/.exec(list.text) ?? []
  const page = await console_().get(link)
  assert.match(page.text, /<h1>payments <small>partition 0, offset 11<\/small><\/h1>[\s\S]*order-11/)
  assert.ok(page.text.includes(`<a href="${link}">Permanent link</a>`))
  const raw = await console_().get(`${link}/value`)
  assert.equal(raw.headers.get('content-disposition'), 'attachment; filename="payments-0-11.value"')
})

test('a restore is prepared for the state at a time', async () => {
  const first = await console_().get('/at/0/shop?generation=1')
  const [, time = ''] = /This is generation 1 of <time datetime="([^"]+)"/.exec(first.text) ?? []
  const { text } = await console_().get(`/at/0/shop/restore?as-of=${time}`)
  assert.match(text, /<dt>State<\/dt><dd>generation 1 of /)
  assert.ok(text.includes(`as_of: ${time}`), text)
  const early = await console_().get('/at/0/shop/restore?as-of=2020-01-01')
  assert.match(early.text, /role="alert">[^<]*no complete generation that was committed by 2020-01-01/)
})

describe('addresses that lead nowhere', () => {
  /** Tried: other folders, encoded and doubled separators, wrong numbers, names of JavaScript, long and broken texts. */
  const tried = [
    '/at/0/..',
    '/at/0/%2e%2e',
    '/at/0/..%2f..%2fetc',
    '/at/0/shop%2f..%2fsealed',
    '/at/0/%5c..%5c',
    '/at/0/shop%00',
    '/at/0/.',
    '/at/1/shop',
    '/at/-1/shop',
    '/at/00000/shop',
    '/at/0x0/shop',
    '/at//shop',
    '/at/0/',
    '/at/0/nope',
    '/at/0/SHOP',
    '/at/0/shop/',
    '/at/0/manifests',
    '/at/0/shop/manifests',
    '/at/0/__proto__',
    '/at/0/constructor',
    '/at/0/shop/topics/__proto__',
    '/at/0/shop/topics/*',
    '/at/0/shop/topics/..',
    '/at/0/shop/topics/orders@',
    '/at/0/shop/topics/orders@x',
    '/at/0/shop/topics/orders/records/0/99999',
    '/at/0/shop/topics/orders/records/9/0',
    '/at/0/shop/topics/orders/records/0/-1',
    '/at/0/shop/topics/orders/records/0/1/other',
    '/at/0/shop/topics/hostile/records/0/3/value',
    '/at/0/shop/newest/more',
    '/assets/../console.ts',
    '/assets/%2e%2e/router.ts',
    '/assets/',
    '/etc/passwd',
    '//evil.example/',
    '/%',
    '/at/0/%ff',
    `/at/0/${'a'.repeat(300)}`,
    '/at/0/shop?generation=x',
    '/at/0/shop/topics/orders/records?partition=abc',
    '/at/0/shop/topics/orders/records?from=99999999999999999999',
    '/at/0/shop/topics/orders/records?since=yesterday',
    '/at/0/shop/topics/orders/records?where=%5B%5B%5B',
  ]

  test('get 400 or 404 and read nothing outside of the location', async () => {
    for (const path of tried) {
      const { status, text } = await rawGet(console_().url, path)
      assert.ok(status === 400 || status === 404, `${path}: ${status}`)
      assert.doesNotMatch(text, /root:|at .*\.ts:\d+/, path)
    }
  })

  test('made of random pieces never fail the console', async () => {
    const pieces = [
      'at',
      '0',
      '1',
      'shop',
      'sealed',
      'topics',
      'orders',
      'records',
      'schemas',
      'groups',
      'restore',
      '..',
      '%2e',
      '%2f',
      '%00',
      '',
      '%',
      'é',
      '*',
      '@',
      '?',
      '&',
      '=',
      'generation=1',
      'topics-page=-1',
      'topics-sort=-x',
      '#',
    ]
    for (let n = 0; n < 300; n++) {
      const path = `/${Array.from({ length: randomInt(1, 9) }, () => pieces[randomInt(pieces.length)]).join(randomInt(4) === 0 ? '&' : '/')}`
      const { status } = await rawGet(console_().url, path)
      assert.ok([200, 400, 404].includes(status), `${path}: ${status}`)
    }
  })

  test('with a generation that does not exist lead to a job file without it', async () => {
    const { text } = await console_().get('/at/0/shop/restore?generation=77')
    assert.match(text, /Generation 77 is gone/)
    assert.doesNotMatch(text, /generation: 77/)
    assert.match((await console_().get('/at/0/shop/restore?generation=1')).text, /generation: 1\n/)
    assert.match(text, /This job file restores no schemas/)
  })

  test('with a generation that does not exist show the newest one and say so', async () => {
    const { status, text } = await console_().get('/at/0/shop?generation=77')
    assert.equal(status, 200)
    assert.match(text, /Generation 77 is gone/)
  })
})

describe('limits', () => {
  const slow = (delay: (signal: AbortSignal) => Promise<never>): Storage =>
    ({
      location: 'slow',
      listFolders: (_: string, signal: AbortSignal) => ({
        [Symbol.asyncIterator]: () => ({ next: () => delay(signal) }),
      }),
    }) as unknown as Storage
  const opened: ConsoleServer[] = []
  after(() => Promise.all(opened.map(server => server.close())))
  const open = async (storage: Storage, limits: object, onFailure = (_: unknown) => {}, more: object = {}) => {
    const server = await openConsoleServer({
      locations: [{ name: 'slow', storage }],
      host: '127.0.0.1',
      port: 0,
      allowedHosts: [],
      clock: systemClock,
      limits,
      onFailure,
      redact: text => text.replaceAll('s3cret', '***'),
      ...more,
    })
    opened.push(server)
    return server
  }
  const untilAborted = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

  test('a request that takes too long ends with 504', async () => {
    const server = await open(slow(untilAborted), { requestMs: 20 })
    const { status, text } = await get(server.url, '/at/0/x')
    assert.equal(status, 504)
    assert.match(text, /took longer than/)
  })

  test('a storage that neither answers nor stops gets 504 likewise, and no more requests than may be at once', async () => {
    let asked = 0
    const hung = slow(() => {
      asked++
      return new Promise(() => {})
    })
    const server = await open(hung, { requestMs: 50, atOnce: 2, waiting: 2 })
    for (let at = 0; at < 4; at++) assert.equal((await get(server.url, `/at/0/${at}`)).status, 504)
    assert.equal(asked, 2)
  })

  test('more requests than may wait end with 503, and others still get their turn', async () => {
    let release = () => {}
    const gate = new Promise<void>(resolve => {
      release = resolve
    })
    let [started, refused] = [0, 0]
    const server = await open(
      slow(async () => {
        started++
        await gate
        throw new KafkaBackupError('BACKUP_NOT_FOUND', 'not here')
      }),
      { atOnce: 1, waiting: 1 },
    )
    const first = get(server.url, '/at/0/x')
    while (started === 0) await new Promise(setImmediate)
    const rest = Promise.all(
      [get(server.url, '/at/0/y'), get(server.url, '/at/0/z'), get(server.url, '/at/0/w')].map(async one => {
        const { status } = await one
        if (status === 503 && ++refused === 2) release()
        return status
      }),
    )
    assert.equal((await first).status, 404)
    assert.deepEqual((await rest).sort(), [404, 503, 503])
  })

  test('answers that slow clients do not take are limited, and freed when they leave', async () => {
    const server = await open(console_().storage, { unsentBytes: 1 })
    const status = async () => (await get(server.url, '/')).status
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1', () =>
      socket.write('GET /at/0/shop/topics/hostile/records/0/2/value HTTP/1.1\r\nHost: localhost\r\n\r\n'),
    )
    await once(socket, 'readable')
    assert.equal(await status(), 503)
    socket.destroy()
    while ((await status()) !== 200) await new Promise(setImmediate)
  })

  test('a client that is silent is cut off, also before its TLS handshake', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'console-tls-'))
    const { cert, key } = await makeIdentity(folder, 'server', { names: 'IP:127.0.0.1' })
    const tls = { cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') }
    await rm(folder, { recursive: true })
    for (const more of [{}, { tls }]) {
      const server = await open(console_().storage, { silentMs: 50 }, undefined, more)
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
      await once(socket, 'close')
    }
  })

  test('a client that leaves stops the reading', async () => {
    let isStopped = () => {}
    const stopped = new Promise<void>(resolve => {
      isStopped = resolve
    })
    let leave = () => {}
    const server = await open(
      slow(signal => {
        leave()
        signal.addEventListener('abort', () => isStopped())
        return untilAborted(signal)
      }),
      {},
    )
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1', () =>
      socket.write('GET /at/0/x HTTP/1.1\r\nHost: localhost\r\n\r\n'),
    )
    leave = () => socket.destroy()
    await stopped
  })

  test('an unexpected failure shows no reason, and a storage error no secret', async () => {
    const failures: unknown[] = []
    const unexpected = await open(
      slow(async () => {
        throw new TypeError('s3cret inside')
      }),
      {},
      error => failures.push(error),
    )
    const one = await get(unexpected.url, '/at/0/x')
    assert.equal(one.status, 500)
    assert.doesNotMatch(one.text, /s3cret|inside/)
    assert.equal(failures.length, 1)
    const denied = await open(
      slow(async () => {
        throw new KafkaBackupError('STORAGE_DENIED', 'the key s3cret is wrong')
      }),
      {},
    )
    const other = await get(denied.url, '/at/0/x')
    assert.deepEqual([other.status, /the key \*\*\* is wrong/.test(other.text)], [502, true])
    const home = await get(denied.url, '/')
    assert.deepEqual([home.status, /the key \*\*\* is wrong/.test(home.text)], [200, true])
  })
})

test('a prune is not held up, and pages of a generation that it removes show the newest one', async () => {
  const { samples, get: read } = console_()
  const record = '/at/0/shop/topics/orders/records/0/70'
  assert.match((await read(`${record.replace('70', '7')}?generation=1`)).text, /order-7&quot;/)
  const io = new FakeIo()
  const prune = ['prune', '--path', samples.path, '--keep-generations', 'last=1', '--grace', '0s', '--yes']
  assert.equal(await main([...prune, '--format', 'json'], io), 0, io.stderr.text)
  const pruned = JSON.parse(io.stdout.text).backups.find((one: { backup_id: string }) => one.backup_id === SHOP)
  assert.equal(pruned.generations_removed, 1)
  // What was listed a second ago may still be shown.
  let page = await read(`${record}?generation=1`)
  while (page.status === 404) page = await read(`${record}?generation=1`)
  assert.match(page.text, /Generation 1 is gone[^<]*This is the newest one, generation 2/)
  assert.match(page.text, /order-70&quot;/)
})

/** Sends the path as it is: `fetch` resolves dots. */
function rawGet(url: string, path: string): Promise<{ status: number; text: string }> {
  const { port } = new URL(url)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect(Number(port), '127.0.0.1', () => {
      socket.write(
        `GET ${encodeURI(path).replaceAll('%25', '%')} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`,
      )
    })
    socket.on('data', chunk => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => {
      const text = Buffer.concat(chunks).toString('utf8')
      resolve({ status: Number(text.split(' ')[1]), text })
    })
  })
}
