/**
 * Where backups live: a flat space of objects under slash-separated keys, as every object store offers.
 *
 * The contract, held by every backend and every decorator (`test/suites/storage-suite.ts`):
 * - A key is segments of printable characters joined by `/`; what `key.ts` refuses is refused with LOCATION_INVALID
 *   before anything is touched. A key is never also the folder of another key: not every backend can hold both.
 * - An object appears whole or not at all. When `create`, `replace` or a writer's `commit` has resolved, the object is
 *   durable: it survives a crash of the process and of the machine.
 * - `create` and `commit` never replace: where the key exists they fail with STORAGE_EXISTS and leave it as it was. Of
 *   two that race for one key, exactly one succeeds. `replace` is for the one mutable copy and is atomic for readers.
 * - A call that failed with a retryable error may have taken effect all the same; then the object is there, whole.
 * - Reading what is not there fails with STORAGE_NOT_FOUND; `stat` answers undefined instead; `remove` succeeds. What
 *   the store itself protects for some time yet (object lock, retention policy, legal hold) `remove` leaves with
 *   STORAGE_RETAINED.
 * - A prefix is '' for everything or names a folder, `a/b` or `a/b/`: it matches `a/b/c`, never `a/bc` or `a/b` itself.
 * - `list` yields every object under the prefix once, in no promised order, and nothing that is unfinished.
 *   `listFolders` yields the distinct next path segments under the prefix that have something below them, without
 *   reading what that is: a folder that holds only unfinished objects may be among them.
 * - Every call stops soon after its signal is aborted, rejecting with the signal's reason; one that is past the point
 *   where the object appears may resolve instead.
 * - Errors are KafkaBackupErrors with a STORAGE_ code, or LOCATION_INVALID where the location cannot serve; the message
 *   names the key and the location, never a secret.
 */
export interface Storage {
  /** For messages: where this is, free of secrets. */
  readonly location: string
  /** Memory that one open writer may hold; a caller keeps the sum within its budget. */
  readonly writerBytes: number
  create(key: string, body: Uint8Array, signal: AbortSignal): Promise<void>
  replace(key: string, body: Uint8Array, signal: AbortSignal): Promise<void>
  /** The signal covers the opening only; the key is not taken before `commit`. */
  openWriter(key: string, signal: AbortSignal): Promise<ObjectWriter>
  read(key: string, signal: AbortSignal): Promise<Buffer>
  /** Exactly `length` bytes from `start` on; STORAGE_SHORT where the object ends before that. */
  readRange(key: string, start: number, length: number, signal: AbortSignal): Promise<Buffer>
  stat(key: string, signal: AbortSignal): Promise<StoredObject | undefined>
  list(prefix: string, signal: AbortSignal): AsyncIterable<StoredObject>
  listFolders(prefix: string, signal: AbortSignal): AsyncIterable<string>
  remove(key: string, signal: AbortSignal): Promise<void>
  /** Called once, when no call is under way. Writers still open are aborted. */
  close(): Promise<void>
}

/** A large object on its way in. It exists for readers only after `commit`. */
export interface ObjectWriter {
  /**
   * The caller may reuse the memory of the chunks once this resolves. Writes of one writer are not made concurrently.
   * After a failed write the writer is spent: `commit` fails too, and what is left is `abort`.
   */
  write(chunks: readonly Uint8Array[], signal: AbortSignal): Promise<void>
  /**
   * May be repeated after a retryable failure. Only the backend can tell its own object from another's of the same
   * size, so it does: where an earlier `commit` of this very writer took effect, the repetition succeeds; where the
   * object is another writer's it fails with STORAGE_EXISTS.
   */
  commit(signal: AbortSignal): Promise<void>
  /**
   * Drops what was written; never fails, may be called after a failed write or commit, and twice. It does not take back
   * an object that has appeared.
   */
  abort(): Promise<void>
}

export interface StoredObject {
  key: string
  size: number
  /** When it appeared or was last replaced, in milliseconds since 1970, by the clock of the store. */
  modifiedMs: number
}
