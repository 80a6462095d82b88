import { hasCode } from '../../errors.ts'
import { keepUntilFreed } from '../../lib/recycled-memory.ts'
import type { Storage } from '../../storage/storage.ts'
import type { Segment } from '../manifest.ts'

/** What lies between two pieces that are read is read with them, up to this many bytes. */
const MAX_SKIP_BYTES = 64 << 10
const MAX_WINDOW_BYTES = 2 << 20
const MIN_WINDOW_BYTES = 256 << 10
/** Of the windows of all packs together, unless there are very many packs: a deep merge reads a dozen side by side. */
const MAX_KEPT_BYTES = 8 << 20

interface Window {
  start: number
  end: number
}

interface ReadWindow extends Window {
  bytes: Promise<Buffer>
  /** Once they are read. */
  read: Buffer | undefined
  free: (() => void) | undefined
}

/**
 * Reads many pieces with few requests. The caller asks for the pieces that it has announced, those of each pack in the order
 * of their positions. One window of each pack is kept. The collector would leave those before it for as long as they fit into 64 MB, so
 * the caller says when nothing of them is in use.
 */
export class PackWindows implements Pick<Storage, 'readRange'> {
  readonly #storage: Pick<Storage, 'readRange'>
  readonly #windows: ReadonlyMap<string, readonly Window[]>
  readonly #kept = new Map<string, ReadWindow>()
  /** Those whose packs have another window by now. */
  #replaced: ReadWindow[] = []

  constructor(storage: Pick<Storage, 'readRange'>, pieces: readonly Segment[]) {
    this.#storage = storage
    const byPack = Map.groupBy(
      pieces.filter(({ piece }) => piece),
      ({ key }) => key,
    )
    const share = Math.floor(MAX_KEPT_BYTES / Math.max(1, byPack.size))
    const windowBytes = Math.max(MIN_WINDOW_BYTES, Math.min(MAX_WINDOW_BYTES, share))
    this.#windows = new Map([...byPack].map(([key, some]) => [key, planWindows(some.map(rangeOf), windowBytes)]))
  }

  async readRange(key: string, start: number, length: number, signal: AbortSignal): Promise<Buffer> {
    const end = start + length
    const window = this.#windowOf(key, start, end, signal)
    if (!window) return this.#storage.readRange(key, start, length, signal)
    try {
      return (await window.bytes).subarray(start - window.start, end - window.start)
    } catch (error) {
      // Damage somewhere in the window need not be damage of this piece.
      if (!hasCode(error, 'STORAGE_SHORT', 'ARCHIVE_DAMAGED')) throw error
      return this.#storage.readRange(key, start, length, signal)
    }
  }

  /** The bytes of a piece whose window is read already. A merge reads thousands of them, and has no promise for each. */
  peek({ key, size, piece }: Segment): Buffer | undefined {
    const window = this.#kept.get(key)
    const start = (piece?.position ?? 0) - (window?.start ?? 0)
    if (!piece || !window?.read || start < 0 || start + size > window.read.length) return undefined
    return window.read.subarray(start, start + size)
  }

  /** For a moment in which nothing that was read is in use: frees the windows that are not read from any more. */
  freeReplaced(): void {
    if (this.#replaced.length === 0) return
    for (const { free } of this.#replaced) free?.()
    this.#replaced = []
  }

  /** Frees all windows. Nothing that was read may be in use. */
  close(): void {
    this.freeReplaced()
    for (const { free } of this.#kept.values()) free?.()
    this.#kept.clear()
  }

  #windowOf(key: string, start: number, end: number, signal: AbortSignal): ReadWindow | undefined {
    const kept = this.#kept.get(key)
    if (kept && kept.start <= start && end <= kept.end) return kept
    const window = this.#windows.get(key)?.find(one => one.start <= start && end <= one.end)
    if (!window) return undefined
    const length = window.end - window.start
    // Its pieces share the memory, and readers of pieces give back what they have read.
    const bytes = this.#storage.readRange(key, window.start, length, signal).then(read => {
      begun.read = read
      begun.free = keepUntilFreed(read)
      return read
    })
    const begun: ReadWindow = { ...window, bytes, read: undefined, free: undefined }
    // Those who wait for the bytes meet the failure.
    bytes.catch(() => undefined)
    if (kept) this.#replaced.push(kept)
    this.#kept.set(key, begun)
    return begun
  }
}

function rangeOf({ piece, size }: Segment): Window {
  const start = piece?.position ?? 0
  return { start, end: start + size }
}

/** Pure. Ranges that are near to each other become one window; a range that is larger than a window has its own. */
export function planWindows(ranges: readonly Window[], maxBytes = MAX_WINDOW_BYTES): Window[] {
  const windows: Window[] = []
  for (const range of ranges.toSorted((a, b) => a.start - b.start)) {
    const last = windows.at(-1)
    const end = Math.max(last?.end ?? 0, range.end)
    if (last && range.start - last.end <= MAX_SKIP_BYTES && end - last.start <= maxBytes) last.end = end
    else windows.push({ ...range })
  }
  return windows
}
