/** How the memory for fetched data is shared out. */
export interface LanePlan {
  lanesPerBroker: number
  buffers: number
  /** For answers out of remote storage; 0 where no topic is tiered. */
  remoteBuffers: number
  bufferBytes: number
  maxActive: number
  /** What one answer may bring; small where the rate is, so that the rate is even. */
  fetchBytes: number
}

interface LaneLimits {
  memoryBudgetBytes: number
  connectionsPerBroker: number
  writerBytes: number
  bytesPerSecond?: number
  /** Some records may be in remote storage. */
  hasTiered?: boolean
}

const MIN_BUFFER_BYTES = 1 << 20
const MAX_BUFFER_BYTES = 8 << 20
/** Parts on their way to a bucket take memory in addition to the budget, and a bucket takes bytes more slowly than a folder. */
const MAX_BUFFER_BYTES_TO_BUCKET = 2 << 20
/** Of any bucket. A writer that holds less encrypts on its way to a folder: it holds one frame, and needs no small answers. */
const MIN_PART_BYTES = 1 << 20
/** An answer ends in the middle of a batch, which is then read again: small answers would waste most of a small rate. */
const MIN_FETCH_BYTES = 1 << 20
/** A request names at most this many partitions: enough that small ones are copied many at a time. */
const MAX_ACTIVE = 128

/**
 * Pure. Each lane has two answers in memory, one arriving and one being stored, and each open segment may hold what its
 * store's writer holds. When the budget is too small for all lanes at the smallest buffer, lanes take turns at the pool.
 */
export function planLanes(brokers: number, limits: LaneLimits): LanePlan {
  const lanesPerBroker = limits.connectionsPerBroker
  // Partitions in remote storage have as many lanes again.
  const kinds = limits.hasTiered ? 2 : 1
  const lanes = Math.max(1, brokers * lanesPerBroker * kinds)
  // Half of the budget for writers if the store needs memory for them.
  const forAnswers = limits.writerBytes > 0 ? limits.memoryBudgetBytes / 2 : limits.memoryBudgetBytes
  const share = Math.floor(forAnswers / (2 * lanes))
  const maxBufferBytes = limits.writerBytes >= MIN_PART_BYTES ? MAX_BUFFER_BYTES_TO_BUCKET : MAX_BUFFER_BYTES
  const bufferBytes = Math.min(maxBufferBytes, Math.max(MIN_BUFFER_BYTES, share))
  const buffers = Math.max(2, Math.min(2 * lanes, Math.floor(forAnswers / bufferBytes)))
  const remoteBuffers = limits.hasTiered ? Math.floor(buffers / 2) : 0
  const writers = limits.writerBytes > 0 ? limits.memoryBudgetBytes / 2 / limits.writerBytes / lanes : MAX_ACTIVE
  return {
    lanesPerBroker,
    buffers: buffers - remoteBuffers,
    remoteBuffers,
    bufferBytes,
    maxActive: Math.max(1, Math.min(MAX_ACTIVE, Math.floor(writers))),
    fetchBytes: Math.min(
      bufferBytes,
      Math.max(MIN_FETCH_BYTES, Math.floor((limits.bytesPerSecond ?? Infinity) / lanes)),
    ),
  }
}
