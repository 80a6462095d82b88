import { HEADER_BYTES } from './object-header.ts'

/** Plain bytes of every frame but the last. Part of the format: sizes and places follow from it without a look inside. */
export const FRAME_BYTES = 256 * 1024
export const TAG_BYTES = 16
const STORED_FRAME_BYTES = FRAME_BYTES + TAG_BYTES

/** Pure. An object has at least one frame: the empty one of an empty object is what says that nothing was cut off. */
export function countFrames(plainSize: number): number {
  return Math.max(1, Math.ceil(plainSize / FRAME_BYTES))
}

/** Pure. The plain size of an object of so many stored bytes; undefined for a size that no encrypted object has. */
export function plainSizeOf(storedSize: number): number | undefined {
  const body = storedSize - HEADER_BYTES
  const frames = Math.ceil(body / STORED_FRAME_BYTES)
  const plainSize = body - TAG_BYTES * frames
  return frames >= 1 && plainSize >= 0 && countFrames(plainSize) === frames ? plainSize : undefined
}

/** Pure. Where a frame begins in the store. */
export function frameStart(index: number): number {
  return HEADER_BYTES + index * STORED_FRAME_BYTES
}

/** Pure. The frame that holds a plain byte; that of the end of an object whose last frame is full is the one behind. */
export function frameOf(position: number): number {
  return Math.floor(position / FRAME_BYTES)
}
