import { connect } from 'node:net'

/**
 * How many brokers a broker sees as registered and taking clients; undefined while it does not answer properly. A port
 * that accepts connections is not enough: a broker listens before it has joined its cluster.
 *
 * DescribeCluster v0:
 *   request  => include_authorized_operations BOOLEAN, TAGS                     (header v2)
 *   response => throttle_ms INT32, error INT16, message COMPACT_NULLABLE_STRING, cluster_id COMPACT_STRING,
 *               controller_id INT32, brokers COMPACT_ARRAY ...                  (header v1)
 */
export function countBrokers(port: number, timeoutMs = 2000): Promise<number | undefined> {
  return new Promise(resolve => {
    let received = Buffer.alloc(0)
    const socket = connect(port, '127.0.0.1', () => socket.write(encodeRequest()))
    const finish = (count: number | undefined) => {
      socket.destroy()
      resolve(count)
    }
    socket.setTimeout(timeoutMs, () => finish(undefined))
    socket.once('error', () => finish(undefined))
    socket.once('close', () => finish(undefined))
    socket.on('data', chunk => {
      received = Buffer.concat([received, chunk])
      if (received.length >= 4 && received.length >= 4 + received.readInt32BE(0)) finish(decodeBrokerCount(received))
    })
  })
}

function encodeRequest(): Buffer {
  const clientId = Buffer.from('probe')
  const request = Buffer.alloc(4 + 2 + 2 + 4 + 2 + clientId.length + 1 + 2)
  request.writeInt32BE(request.length - 4, 0)
  request.writeInt16BE(60, 4)
  request.writeInt16BE(0, 6)
  request.writeInt32BE(1, 8)
  request.writeInt16BE(clientId.length, 12)
  clientId.copy(request, 14)
  return request
}

function decodeBrokerCount(response: Buffer): number | undefined {
  let at = 4 + 4 + 1 + 4
  if (response.readInt16BE(at) !== 0) return undefined
  at += 2
  // Lengths are one more than the length, 0 for null; all of them fit one byte here.
  for (let text = 0; text < 2; text++) at += Math.max(1, response.readUInt8(at))
  return response.readUInt8(at + 4) - 1
}
