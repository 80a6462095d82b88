import { hashOf } from '../../src/archive/hash.ts'
import { sealJson } from '../../src/archive/seal.ts'
import { formatJson, parseJson } from '../../src/lib/json.ts'
import { type Objects, PLAIN, SEALED } from './honest-archive.ts'

/** A parsed document of any shape: the corpus puts values into it that no schema allows. */
// biome-ignore lint/suspicious/noExplicitAny: the corpus puts every kind of value everywhere
export type Tree = any

/**
 * An archive in the hands of somebody who may write to the store and knows the format: every change is followed by the
 * hashes and checksums that make it look genuine.
 */
export class Forgery {
  readonly objects: Objects
  /** The folders that journals of a restore to the registry of the test are in. */
  readonly journals: readonly string[]

  constructor(honest: Objects, journals: readonly string[] = []) {
    this.journals = journals
    this.objects = new Map(honest)
  }

  /** The one key that matches. */
  find(pattern: RegExp): string {
    const [key] = [...this.objects.keys()].filter(one => pattern.test(one))
    if (key === undefined) throw new Error(`the honest archive has no ${pattern}`)
    return key
  }

  bytes(key: string): Buffer {
    const bytes = this.objects.get(key)
    if (!bytes) throw new Error(`the honest archive has no ${key}`)
    return bytes
  }

  tree(key: string): Tree {
    return parseJson(this.bytes(key).toString('utf8'))
  }

  put(key: string, body: Buffer | string): void {
    this.objects.set(key, Buffer.from(body))
  }

  /** Changes a document that carries its own checksum. */
  reseal(key: string, change: (tree: Tree) => unknown): void {
    const tree = this.tree(key)
    const { checksum: _, ...rest } = (change(tree) as object | undefined) ?? tree
    this.objects.set(key, sealJson(rest))
  }

  manifest(change: (tree: Tree) => unknown, generation = 2, backupId = PLAIN): void {
    this.reseal(manifestAt(generation, backupId), change)
  }

  /** The copies for people follow: a forger would not forget them. */
  renewCopies(honest: Objects): void {
    for (const id of [PLAIN, SEALED]) {
      const newest = [...this.objects.keys()].filter(key => key.startsWith(`${id}/manifests/0`)).sort()
      const bytes = this.objects.get(newest.at(-1) ?? '')
      const isTouched = !this.objects
        .get(`${id}/manifest.json`)
        ?.equals(honest.get(`${id}/manifest.json`) ?? Buffer.alloc(0))
      if (bytes && !isTouched) this.objects.set(`${id}/manifest.json`, bytes)
    }
  }

  /** The same with text, for what no object can hold: fields that come twice, depth, numbers beyond a double. */
  manifestText(change: (text: string) => string): void {
    const key = manifestAt(2, PLAIN)
    const body = this.bytes(key)
      .toString('utf8')
      .replace(/,\n "checksum": "[0-9a-f]+"\n}\n$/, '')
    const changed = change(body)
    this.put(key, `${changed},\n "checksum": "${hashOf(Buffer.from(changed))}"\n}\n`)
  }

  /** Changes a document that a manifest names, and makes the manifests vouch for it. */
  named(pattern: RegExp, change: (tree: Tree) => unknown): void {
    const key = this.find(pattern)
    const tree = this.tree(key)
    this.namedBytes(key, Buffer.from(formatJson(change(tree) ?? tree, 1)))
  }

  namedBytes(key: string, body: Buffer): void {
    this.objects.set(key, body)
    const vouch = { size: body.length, blake3: hashOf(body) }
    for (const manifest of [...this.objects.keys()].filter(one => /^[^/]+\/manifests\/\d+\.json$/.test(one))) {
      if (manifest.startsWith(`${key.split('/')[0]}/`)) this.reseal(manifest, tree => vouchIn(tree, key, vouch))
    }
  }

  /** The index of the newest segments of `orders/0`. */
  index(change: (tree: Tree) => unknown): void {
    this.named(/^plain\/kafka\/orders\/0\/index-2\./, change)
  }
}

export function manifestAt(generation: number, backupId: string): string {
  return `${backupId}/manifests/${String(generation).padStart(8, '0')}.json`
}

function vouchIn(value: Tree, key: string, vouch: { size: number; blake3: string }): void {
  if (typeof value !== 'object' || value === null) return
  const file = value.file ?? value.schema_file
  if (value.key === key || (file !== undefined && key.endsWith(`/schema-registry/${file}`))) Object.assign(value, vouch)
  for (const inner of Object.values(value)) vouchIn(inner, key, vouch)
}
