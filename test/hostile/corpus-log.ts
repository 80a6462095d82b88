import type { HostileItem } from './corpus.ts'
import type { Forgery } from './forgery.ts'
import { LOG } from './honest-archive.ts'

/** One of each kind of object of version 2; the second of the pair is another one of the kind. */
const kinds: readonly [what: string, pattern: RegExp][] = [
  ['commit', /^log\/commits\//],
  ['roll-up', /^log\/rollups\//],
  ['checkpoint', /^log\/checkpoints\/[0-9]+\.[a-z0-9]+\.json/],
  ['page', /^log\/checkpoints\/[0-9]+\.[a-z0-9]+-[0-9]+\.json/],
  ['pack', /^log\/packs\//],
]

const keysOf = (archive: Forgery, pattern: RegExp) =>
  [...archive.objects.keys()].filter(key => pattern.test(key)).sort()
const lastOf = (archive: Forgery, pattern: RegExp) => keysOf(archive, pattern).at(-1) ?? archive.find(pattern)

function flip(archive: Forgery, key: string): void {
  const bytes = Buffer.from(archive.bytes(key))
  const at = bytes.length >> 1
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
  archive.put(key, bytes)
}

/** Documents of version 2 that are torn, flipped, deleted, swapped or replayed. */
export const log: readonly HostileItem[] = [
  ...kinds.flatMap(([what, pattern]): HostileItem[] => [
    {
      name: `version 2: a ${what} that is torn`,
      backupId: LOG,
      change: archive => {
        const key = lastOf(archive, pattern)
        archive.put(key, archive.bytes(key).subarray(0, archive.bytes(key).length >> 1))
      },
    },
    {
      name: `version 2: a ${what} with another bit`,
      backupId: LOG,
      change: archive => flip(archive, lastOf(archive, pattern)),
    },
    {
      name: `version 2: a ${what} that is missing`,
      backupId: LOG,
      change: archive => void archive.objects.delete(lastOf(archive, pattern)),
      // Nothing but the copy for people shows that there was a newer commit.
      ...(what === 'commit' && { isAccepted: 'or refused' as const }),
    },
  ]),
  ...(['commit', 'pack'] as const).map((what): HostileItem => {
    const pattern = what === 'commit' ? /^log\/commits\// : /^log\/packs\//
    return {
      name: `version 2: two ${what}s swapped`,
      backupId: LOG,
      change: archive => {
        const [a = '', b = ''] = keysOf(archive, pattern).slice(-2)
        const bytes = archive.bytes(a)
        archive.put(a, archive.bytes(b))
        archive.put(b, bytes)
      },
    }
  }),
  {
    name: 'version 2: an earlier commit replayed as the newest',
    backupId: LOG,
    change: archive => {
      const keys = keysOf(archive, /^log\/commits\//)
      archive.put(keys.at(-1) ?? '', archive.bytes(keys[0] ?? ''))
    },
  },
  {
    name: 'version 2: commits without the marker',
    backupId: LOG,
    change: archive => void archive.objects.delete(archive.find(/^log\/manifests\//)),
  },
  {
    name: 'version 2: the marker without commits',
    backupId: LOG,
    change: archive => {
      for (const key of keysOf(archive, /^log\/commits\//)) archive.objects.delete(key)
    },
  },
]
