import { fork } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { connect, createServer } from 'node:net'

/**
 * The least that any copy over the network must do, as a process of its own: bytes of memory over a loopback socket into
 * files that are made durable. `loopback-copy.ts BYTES FOLDER` copies, `loopback-copy.ts serve` is the other end.
 */
const CHUNK_BYTES = 1 << 20

if (process.argv[2] === 'serve') serve()
else await copy(Number(process.argv[2]), process.argv[3] ?? '.')

function serve(): void {
  const chunk = Buffer.alloc(CHUNK_BYTES, 'loopback ')
  const server = createServer(socket => {
    const push = () => {
      while (socket.writable && socket.write(chunk));
    }
    socket.on('drain', push)
    socket.on('error', () => undefined)
    push()
  })
  server.listen(0, '127.0.0.1', () => process.send?.(server.address()))
  process.on('disconnect', () => process.exit())
}

async function copy(bytes: number, folder: string): Promise<void> {
  const server = fork(import.meta.filename, ['serve'])
  const [{ port }] = (await once(server, 'message')) as [{ port: number }]
  const streams = 4
  await Promise.all(
    Array.from({ length: streams }, (_, i) => copyStream(port, Math.ceil(bytes / streams), `${folder}/copy-${i}`)),
  )
  server.disconnect()
}

async function copyStream(port: number, bytes: number, path: string): Promise<void> {
  const file = await open(path, 'w')
  let filling = Buffer.allocUnsafeSlow(4 * CHUNK_BYTES)
  let writing = Buffer.allocUnsafeSlow(4 * CHUNK_BYTES)
  let filled = 0
  let copied = 0
  let written: Promise<unknown> = Promise.resolve()
  await new Promise<void>((resolve, reject) => {
    const swap = (): boolean => {
      const [full, size, before] = [filling, filled, written]
      filling = writing
      writing = full
      filled = 0
      written = before.then(() => file.write(full, 0, size))
      if (copied >= bytes) socket.destroy()
      else before.then(() => socket.resume(), reject)
      return false
    }
    const socket = connect({
      port,
      host: '127.0.0.1',
      onread: {
        buffer: () => filling.subarray(filled),
        callback: length => {
          filled += length
          copied += length
          return filled === filling.length || copied >= bytes ? swap() : true
        },
      },
    })
    socket.on('close', () => resolve())
    socket.on('error', reject)
  })
  await written
  await file.datasync()
  await file.close()
}
