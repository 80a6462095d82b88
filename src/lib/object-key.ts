/** Names that backends give to unfinished objects; no key may look like one, or it would never be listed. */
export const unfinishedPrefix = '.tmp-'

/** A folder at the top of every ext volume that only root can read. */
const systemFolder = 'lost+found'

const maxKeyBytes = 1024
const maxSegmentBytes = 255

/** Nothing is wrong with such a key; most are of this kind. */
const plainKey = /^[\w-][\w.-]*(?:\/[\w-][\w.-]*)*$/

/** Pure. Why some backend could not hold a key, could confuse it with another, or could be led outside the location by it. */
export function findKeyFault(key: string): string | undefined {
  if (key.length <= maxSegmentBytes && plainKey.test(key)) return undefined
  if (key === '') return 'it is empty'
  if (!key.isWellFormed()) return 'it is not valid Unicode'
  if (/[\p{Cc}\u2028\u2029]/u.test(key)) return 'it holds a control character'
  if (key.includes('\\')) return 'it holds a backslash'
  if (Buffer.byteLength(key) > maxKeyBytes) return `it is longer than ${maxKeyBytes} bytes`
  const segments = key.split('/')
  if (segments[0] === systemFolder) return `${systemFolder} belongs to the file system`
  for (const segment of segments) {
    const fault = findSegmentFault(segment)
    if (fault !== undefined) return fault
  }
  return undefined
}

export function isKey(key: string): boolean {
  return findKeyFault(key) === undefined
}

function findSegmentFault(segment: string): string | undefined {
  if (segment === '') return 'a part between slashes is empty'
  if (segment === '.' || segment === '..') return `a part is ${JSON.stringify(segment)}`
  if (segment.startsWith(unfinishedPrefix))
    return `a part starts with ${unfinishedPrefix}, which marks unfinished objects`
  if (Buffer.byteLength(segment) > maxSegmentBytes) return `a part is longer than ${maxSegmentBytes} bytes`
  return undefined
}
