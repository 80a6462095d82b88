import type { EditRecord } from '../batch/record-editor.ts'

/** Adds to each record where it came from, as plain text. */
export function offsetHeaders(origin: { topic: string; partition: number; cluster: string | null }): EditRecord {
  const fixed: [string, Buffer][] = [
    ['x-original-topic', Buffer.from(origin.topic)],
    ['x-original-partition', Buffer.from(String(origin.partition))],
  ]
  const cluster = Buffer.from(origin.cluster ?? '')
  return ({ offset, timestamp }) => ({
    addHeaders: [
      ...fixed,
      ['x-original-offset', Buffer.from(String(offset))],
      ['x-original-timestamp', Buffer.from(String(timestamp))],
      ['x-source-cluster', cluster],
    ],
  })
}
