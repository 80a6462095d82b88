/** More texts than this are not kept: it begins again. */
const MAX_KEPT = 200_000
const MAX_NUMBER = 10_000

let kept = new Map<string, string[]>()
let count = 0

/**
 * `name/number`, as partitions are named in maps. The same text is returned each time: a round asks a dozen times for the text of each of thousands of
 * partitions, and what it keeps of them would have a copy each.
 */
export function numberedName(name: string, number: number): string {
  if (!(number >= 0 && number < MAX_NUMBER)) return `${name}/${number}`
  let texts = kept.get(name)
  if (!texts) {
    texts = []
    kept.set(name, texts)
  }
  const known = texts[number]
  if (known !== undefined) return known
  if (++count > MAX_KEPT) {
    kept = new Map([[name, texts]])
    count = 1
    texts.length = 0
  }
  const text = `${name}/${number}`
  texts[number] = text
  return text
}
