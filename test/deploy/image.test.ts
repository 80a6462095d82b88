import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'

const root = resolve(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

interface LockedPackage {
  version: string
  integrity?: string
  resolved?: string
  os?: string[]
  cpu?: string[]
  libc?: string[]
  optionalDependencies?: Record<string, string>
}

const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, LockedPackage> }

test('every base image of the Dockerfile is pinned by digest, and an argument replaces it', () => {
  const text = read('deploy/Dockerfile')
  const bases = [...text.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base)
  const names = new Set(bases.map(base => /^\$\{([A-Z_]+)\}$/.exec(base ?? '')?.[1]))
  assert.deepEqual([...names].sort(), ['BASE_IMAGE', 'NODE_IMAGE'])
  for (const name of names) {
    const [, base] = new RegExp(`^ARG ${name}=(\\S+)$`, 'm').exec(text) ?? []
    assert.match(base ?? '', /^(node:24|debian:)[a-z-]*@sha256:[0-9a-f]{64}$/)
    assert.ok(read('docs/install.md').includes(`--build-arg ${name}=`), name)
  }
})

test('the image and the checkout install exactly what the lock file names', () => {
  const installs = [read('deploy/Dockerfile'), read('Makefile')].flatMap(
    text => text.match(/npm (ci|i|install)\b/g) ?? [],
  )
  assert.deepEqual(installs, ['npm ci', 'npm ci', 'npm ci'])
})

test('the lock file names a hash for every package and no registry', () => {
  const entries = Object.entries(packages).filter(([path]) => path !== '')
  assert.ok(entries.length > 200, `${entries.length} packages`)
  assert.deepEqual(
    entries.filter(([, { integrity }]) => !integrity?.startsWith('sha512-')).map(([path]) => path),
    [],
  )
  assert.deepEqual(
    entries.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path),
    [],
  )
  assert.doesNotMatch(read('package-lock.json'), /https?:\/\/[^"]*\.tgz/)
})

test('the lock file has the binaries of every platform that a package offers', () => {
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(name => !isLocked(path, name)),
  )
  assert.deepEqual(missing, [])
})

test('each package in machine code that runs in production has binaries for the supported platforms', () => {
  const supported = [
    'linux-x64-gnu',
    'linux-x64-musl',
    'linux-arm64-gnu',
    'linux-arm64-musl',
    'darwin-arm64',
    'darwin-x64',
  ]
  for (const name of ['@napi-rs/blake-hash', '@node-rs/crc32', '@napi-rs/snappy', '@antoniomuso/lz4-napi']) {
    for (const platform of supported) assert.ok(packages[`node_modules/${name}-${platform}`], `${name}-${platform}`)
  }
})

/** Looks where Node.js does: next to the package, then further up. */
function isLocked(path: string, name: string): boolean {
  if (packages[`${path === '' ? '' : `${path}/`}node_modules/${name}`]) return true
  return path !== '' && isLocked(path.slice(0, Math.max(0, path.lastIndexOf('/node_modules/'))), name)
}
