import type { HostileItem } from './corpus.ts'
import type { Forgery } from './forgery.ts'

/** One of each kind that readers need. */
const needed: readonly [what: string, pattern: RegExp][] = [
  ['manifest', /^plain\/manifests\/00000002/],
  ['index', /^plain\/kafka\/orders\/0\/index-2/],
  ['segment', /^plain\/kafka\/orders\/0\/.*0\..*\.log\.zst$/],
  ['groups file', /^plain\/kafka\/groups-2/],
  ['settings of the registry', /^plain\/.*generations\/[^/]+\/_schemas.json$/],
  ['schema', /^plain\/.*generations\/.*\/orders-value\/v1.avsc$/],
]

const cut = (archive: Forgery, key: string) =>
  archive.put(key, archive.bytes(key).subarray(0, archive.bytes(key).length >> 1))

export const objects: readonly HostileItem[] = [
  ...needed.flatMap(([what, pattern]): HostileItem[] => [
    { name: `a ${what} that is cut`, change: archive => cut(archive, archive.find(pattern)) },
    {
      name: `a ${what} that is missing`,
      change: archive => void archive.objects.delete(archive.find(pattern)),
      ...(what === 'manifest' && { isAccepted: 'or refused' as const }),
    },
    {
      name: `a ${what} with bytes behind it`,
      change: archive =>
        archive.put(
          archive.find(pattern),
          Buffer.concat([archive.bytes(archive.find(pattern)), Buffer.alloc(1000, '\n')]),
        ),
    },
    {
      name: `a ${what} in place of every other`,
      change: archive => {
        const bytes = archive.bytes(archive.find(pattern))
        for (const key of archive.objects.keys()) if (key.startsWith('plain/')) archive.put(key, bytes)
      },
    },
  ]),
  {
    name: 'two segments swapped',
    change: archive => {
      const [a, b] = [
        archive.find(/^plain\/kafka\/orders\/0\/.*00\..*\.log\.zst$/),
        archive.find(/^plain\/kafka\/orders\/1\/.*\.log\.zst$/),
      ]
      const bytes = archive.bytes(a)
      archive.put(a, archive.bytes(b))
      archive.put(b, bytes)
    },
  },
  {
    name: 'nothing but folders',
    change: archive => {
      for (const key of [...archive.objects.keys()])
        if (key.startsWith('plain/') && !key.endsWith('manifest.json')) archive.objects.delete(key)
    },
  },
  {
    name: 'a hundred folders that look like backups',
    change: archive => {
      for (let at = 0; at < 100; at++) archive.put(`b${at}/manifests/00000001.json`, '{}')
    },
    isAccepted: true,
  },
]
