import { sealJson } from '../../src/archive/seal.ts'
import type { HostileItem } from './corpus.ts'
import type { Forgery } from './forgery.ts'
import { namePlaces } from './name-places.ts'

/** At the start of a line of output this shows that a name has ended its line. */
export const FORGED = 'FORGED-LINE'

const everything = `a\n${FORGED} \x1b]0;owned\x07\x1b[2J\x9b8m\u202e$(touch pwned);\`touch pwned\`\0\ud800'"\r\t`
const others = ['../../outside/secret', '__proto__', '', 'x'.repeat(100_000), '--help', '*', '\u2028\u200f\ufeff']

const short = (text: string) => JSON.stringify(text.length > 30 ? `${text.slice(0, 10)}…` : text)

/** Every place takes the worst text, and one of the others in turn. */
export const names: readonly HostileItem[] = [
  ...namePlaces.flatMap(({ what, put, isAccepted }, at) =>
    [everything, others[at % others.length] ?? '', others[(at + 3) % others.length] ?? ''].map((text, nth) => ({
      name: nth === 0 ? `${what} is everything at once` : `${what} is ${short(text)}`,
      change: (archive: Forgery) => put(archive, text),
      ...(isAccepted && { isAccepted: 'or refused' as const }),
    })),
  ),
  ...['a\nFORGED-LINE', '\x1b[2J', '-rf', '$(touch pwned)', '\u202egnp', 'é', '.', '%2e%2e'].map(id => ({
    name: `a backup in the folder ${JSON.stringify(id)}`,
    change: (archive: Forgery) => {
      if (id === '.') return
      for (const [key, bytes] of [...archive.objects]) {
        if (key.startsWith('other/')) archive.put(`${id}${key.slice('other'.length)}`, bytes)
      }
      const { checksum: _, ...tree } = archive.tree('other/manifests/00000001.json')
      archive.objects.set(`${id}/manifests/00000001.json`, sealJson({ ...tree, backup_id: id }))
    },
    isAccepted: true as const,
  })),
]
