import { fork } from 'node:child_process'
import { once } from 'node:events'
import { open, readdir } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { Blake3Hasher } from '@napi-rs/blake-hash'

/**
 * The least that a restore must do, as a process of its own: reads the segments of a backup, hashes them and sends them over a
 * loopback socket. `bare-send.ts FOLDER` sends, `bare-send.ts serve` is the other end.
 */
const PIECE_BYTES = 4 << 20

if (process.argv[2] === 'serve') serve()
else await send(process.argv[2] ?? '.')

function serve(): void {
  const server = createServer(socket => {
    socket.on('data', () => undefined)
    socket.on('error', () => undefined)
  })
  server.listen(0, '127.0.0.1', () => process.send?.(server.address()))
  process.on('disconnect', () => process.exit())
}

async function send(folder: string): Promise<void> {
  const sink = fork(import.meta.filename, ['serve'])
  const [{ port }] = (await once(sink, 'message')) as [{ port: number }]
  const names = await readdir(folder, { recursive: true })
  const segments = names.filter(name => name.endsWith('.log'))
  await Promise.all(segments.map(name => sendOne(join(folder, name), port)))
  sink.disconnect()
}

async function sendOne(path: string, port: number): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1' })
  const file = await open(path)
  const hasher = new Blake3Hasher()
  const piece = Buffer.allocUnsafeSlow(PIECE_BYTES)
  for (;;) {
    const { bytesRead } = await file.read(piece, 0, piece.length)
    if (bytesRead === 0) break
    const bytes = piece.subarray(0, bytesRead)
    hasher.update(bytes)
    await write(socket, bytes)
  }
  hasher.digest('hex')
  await file.close()
  // The other end closes when all has arrived.
  socket.resume().end()
  await once(socket, 'close')
}

function write(socket: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => socket.write(bytes, error => (error ? reject(error) : resolve())))
}
