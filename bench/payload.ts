import { writeFile } from 'node:fs/promises'

const people = ['anna', 'bert', 'carla', 'dora', 'emil', 'finn', 'greta', 'hugo', 'ines', 'jonas', 'karla', 'lena']
const words = 'lorem ipsum dolor sit amet consetetur sadipscing elitr sed diam nonumy eirmod tempor invidunt'.split(' ')

/** That the schema of the payload has where it is from. Not a line break, nor a byte that UTF-8 writes otherwise. */
export const SCHEMA_ID = 5
const frame = String.fromCharCode(0, 0, 0, 0, SCHEMA_ID)

/**
 * Lines of JSON such as a shop's events have: repeated structure, random ids, some prose. Each in the frame of a serializer
 * that knows a registry. The same for every run.
 */
export async function writePayloadFile(path: string, lines: number): Promise<{ bytes: number }> {
  const random = seededRandom(42)
  const text = Array.from({ length: lines }, () => `${frame}${JSON.stringify(makeOrder(random))}\n`).join('')
  await writeFile(path, text)
  return { bytes: text.length }
}

type Random = (below: number) => number

function makeOrder(random: Random) {
  const pick = (list: string[]) => list[random(list.length)] ?? ''
  const hex = (digits: number) => Array.from({ length: digits }, () => random(16).toString(16)).join('')
  const price = () => random(99_999) / 100
  return {
    event: 'order_placed',
    id: `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`,
    placed_at: new Date(1_760_000_000_000 + random(1e9)).toISOString(),
    customer: { id: random(1e6), name: pick(people), email: `${pick(people)}${random(1e5)}@example.com` },
    items: Array.from({ length: 2 + random(5) }, () => ({
      sku: `SKU-${random(99_999)}`,
      title: [pick(words), pick(words), pick(words)].join(' '),
      quantity: 1 + random(5),
      price: price(),
    })),
    total: price(),
    currency: 'EUR',
    address: {
      street: `${pick(words)} street ${random(300)}`,
      city: `${pick(people)}ville`,
      zip: String(10_000 + random(89_999)),
    },
    note: Array.from({ length: 8 + random(12) }, () => pick(words)).join(' '),
    trace: hex(32),
  }
}

/** Mulberry32: small, and the same everywhere. */
function seededRandom(seed: number): Random {
  let state = seed
  return below => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4294967296) * below)
  }
}
