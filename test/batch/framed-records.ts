/** How long the part is that is edited: a record header and an ID in front of its value. */
export const MAX_HEAD_BYTES = 13

type Pick = (below: number) => number

export type Form = 'json' | 'binary'

export const words = 'lorem ipsum dolor sit amet consetetur sadipscing elitr'.split(' ')

export function pickFrom(random: () => number): Pick {
  return below => Math.floor(random() * below)
}

export function bytesOf(count: number, pick: Pick): Buffer {
  return Buffer.from(Array.from({ length: count }, () => pick(256)))
}

/** What a batch holds: records that repeat the ID in their frame, and little else. */
export function recordsOf(form: Form, id: number, records: number, pick: Pick): Buffer {
  const texts = Array.from({ length: records }, (_, i) => {
    const value =
      form === 'json' ? Buffer.from(`{"n":${i},"w":"${words[pick(8)]}${pick(99_999)}"}`) : bytesOf(9 + pick(20), pick)
    const head = Buffer.from([90, 0, pick(100), i & 0x7f, 1, 88, pick(100), 3, 0, 0, 0, 0, 0])
    head.writeInt32BE(id, 9)
    return Buffer.concat([head, value])
  })
  return Buffer.concat(texts)
}

export function idReplaced(plain: Buffer, from: number, to: number): Buffer {
  const [old, replaced] = [Buffer.alloc(5), Buffer.from(plain)]
  old.writeInt32BE(from, 1)
  for (let at = replaced.indexOf(old); at >= 0; at = replaced.indexOf(old, at + 5)) replaced.writeInt32BE(to, at + 1)
  return replaced
}
