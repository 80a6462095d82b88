/**
 * A flat space of objects under slash-separated keys, as in every object store.
 *
 * The contract of every backend and every decorator (`test/suites/storage-suite.ts`):
 * - A key is segments of printable characters joined by `/`; `key.ts` rejects others with LOCATION_INVALID
 *   before any request. A key is never also the folder of another key: not every backend can hold both.
 * - An object appears completely or not at all. Once `create`, `replace` or a writer's `commit` has resolved, it is
 *   durable: it survives a crash of the process and of the machine.
 * - `create` and `commit` never replace: if the key exists they fail with STORAGE_EXISTS and change nothing. Of two that
 *   race for one key, exactly one succeeds. `replace` is for the few mutable objects and is atomic for readers.
 * - A call that failed with a retryable error may still have taken effect; then the object exists completely.
 * - An object that is written or read at once has at most the size of its class (`object-limits.ts`). A larger one is not written,
 *   with STORAGE_REFUSED, and not read, with ARCHIVE_DAMAGED, before memory is allocated for it. Writers and ranges have no such limit.
 * - Reading a missing object fails with STORAGE_NOT_FOUND; `stat` returns undefined instead; `remove` succeeds. `remove`
 *   fails with STORAGE_RETAINED if the store protects the object (object lock, retention policy, legal hold).
 * - A prefix is '' for all objects, or a folder, `a/b` or `a/b/`: it matches `a/b/c`, never `a/bc` or `a/b` itself.
 * - `list` yields every object under the prefix once, in any order, and no unfinished objects. `listFolders`
 *   yields the distinct next path segments under the prefix that contain something; a folder with only unfinished
 *   objects may be among them.
 * - Every call stops soon after its signal is aborted, rejecting with the signal's reason; after the object has
 *   appeared it may resolve instead.
 * - Errors are KafkaBackupErrors with a STORAGE_ code, or LOCATION_INVALID if the location is unusable; the message names
 *   the key and the location, never a secret.
 */
export interface Storage {
  /** For messages; contains no secrets. */
  readonly location: string
  /** Memory that one open writer may use; the caller keeps the sum within its budget. */
  readonly writerBytes: number
  create(key: string, body: Uint8Array, signal: AbortSignal): Promise<void>
  replace(key: string, body: Uint8Array, signal: AbortSignal): Promise<void>
  /** The signal covers opening only; the key is not taken before `commit`. */
  openWriter(key: string, signal: AbortSignal): Promise<ObjectWriter>
  read(key: string, signal: AbortSignal): Promise<Buffer>
  /** Exactly `length` bytes from `start` on, which are the caller's alone (`lib/recycled-memory.ts`); STORAGE_SHORT if the object ends before that. */
  readRange(key: string, start: number, length: number, signal: AbortSignal): Promise<Buffer>
  stat(key: string, signal: AbortSignal): Promise<StoredObject | undefined>
  list(prefix: string, signal: AbortSignal): AsyncIterable<StoredObject>
  listFolders(prefix: string, signal: AbortSignal): AsyncIterable<string>
  remove(key: string, signal: AbortSignal): Promise<void>
  /** Called once, when no call is in progress. Aborts open writers. */
  close(): Promise<void>
}

/** Writes a large object. It exists for readers only after `commit`. */
export interface ObjectWriter {
  /** Content is missing: every further `commit` fails, and only a new writer can succeed. */
  readonly isSpent?: boolean
  /**
   * The caller may reuse the memory of the chunks once this resolves. Do not call it concurrently.
   * After a failed write the writer is unusable: `commit` fails too; call `abort`.
   */
  write(chunks: readonly Uint8Array[], signal: AbortSignal): Promise<void>
  /**
   * May be repeated after a retryable failure. The backend recognizes its own object: if an earlier `commit` of this
   * writer took effect, the repetition succeeds; if the object is another writer's, it fails with STORAGE_EXISTS.
   */
  commit(signal: AbortSignal): Promise<void>
  /**
   * Discards what was written. Never fails, and may be called twice or after a failed write or commit. It does not remove
   * an object that has appeared.
   */
  abort(): Promise<void>
}

export interface StoredObject {
  key: string
  size: number
  /** When it appeared or was last replaced, in milliseconds since 1970, by the clock of the store. */
  modifiedMs: number
  /** Until when the store refuses to remove it, where it says so; a listing does not. */
  protectedUntilMs?: number
}
