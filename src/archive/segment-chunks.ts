import type { ObjectRange } from '../lib/ranges-ahead.ts'
import type { Segment } from './manifest.ts'

const CHUNK_BYTES = 4 << 20

/** Stored and plain bytes. */
type Frame = readonly [number, number]

/** What one request reads: neighboring frames of a compressed segment, or a part of one that is not. */
interface SegmentChunk {
  start: number
  length: number
  frames: readonly Frame[]
  largestPlainBytes: number
}

/** Pure. The requests that reading these segments takes, in their order, for a caller that reads ahead. */
export function* rangesOf(segments: Iterable<Segment>): Generator<ObjectRange> {
  for (const segment of segments) {
    for (const { start, length } of chunksOf(segment)) yield { key: segment.key, start, length }
  }
}

/** Pure. Frames are small where records compress well: each as a request of its own would wait for the store each time. */
export function* chunksOf({ piece, size, frames }: Segment): Generator<SegmentChunk> {
  let chunk = { start: piece?.position ?? 0, length: 0, frames: [] as Frame[], largestPlainBytes: 0 }
  for (const frame of frames ?? cutPlain(size)) {
    if (chunk.frames.length > 0 && chunk.length + frame[0] > CHUNK_BYTES) {
      yield chunk
      chunk = { start: chunk.start + chunk.length, length: 0, frames: [], largestPlainBytes: 0 }
    }
    chunk.length += frame[0]
    chunk.frames.push(frame)
    chunk.largestPlainBytes = Math.max(chunk.largestPlainBytes, frame[1])
  }
  if (chunk.frames.length > 0) yield chunk
}

function* cutPlain(size: number): Generator<Frame> {
  for (let position = 0; position < size; position += CHUNK_BYTES) {
    const bytes = Math.min(CHUNK_BYTES, size - position)
    yield [bytes, bytes]
  }
}
