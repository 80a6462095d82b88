import { type AddressInfo, connect, createServer } from 'node:net'

/** Stands before a server and gives its answers after a delay, as a registry in another region does. */
export async function openSlowLink(
  url: string,
  delayMs: number,
): Promise<{ url: string; [Symbol.asyncDispose](): Promise<void> }> {
  const { hostname, port } = new URL(url)
  const server = createServer(incoming => {
    const onward = connect(Number(port), hostname)
    const end = () => {
      incoming.destroy()
      onward.destroy()
    }
    incoming.on('data', chunk => onward.write(chunk))
    onward.on('data', chunk => setTimeout(() => incoming.write(chunk), delayMs))
    for (const socket of [incoming, onward]) socket.on('error', end).on('close', end).setNoDelay(true)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: () => new Promise(resolve => server.close(() => resolve())),
  }
}
