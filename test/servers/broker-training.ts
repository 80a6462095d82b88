import { once } from 'node:events'
import { connect } from 'node:tls'
import { brokerNames, makeIdentity } from './certificates.ts'
import { exerciseBroker } from './driver.ts'
import { makeGuardedFolder } from './guard.ts'
import type { KafkaOptions, KafkaServer } from './kafka.ts'

/**
 * Starts a broker, uses it as tests do and stops it in order, for the archive of its classes: it loads many only
 * for its first clients.
 */
export async function trainBroker(
  startBroker: (options: KafkaOptions) => Promise<KafkaServer>,
  { hasPemKeys }: { hasPemKeys: boolean },
): Promise<void> {
  const folder = await makeGuardedFolder('training')
  try {
    await using server = await startBroker(hasPemKeys ? await planTls(folder.path) : {})
    for (const address of server.secureBootstrapServers) await shakeHands(address)
    await exerciseBroker(server)
    await server.stopBroker(0)
  } finally {
    await folder.remove()
  }
}

async function planTls(folder: string): Promise<KafkaOptions> {
  const { store } = await makeIdentity(folder, 'server', { names: brokerNames })
  const keyStore = 'listener.name.secure.ssl.keystore'
  return { secureListener: 'SSL', properties: { [`${keyStore}.type`]: 'PEM', [`${keyStore}.location`]: store } }
}

async function shakeHands(address: string): Promise<void> {
  const { hostname: host, port } = new URL(`tls://${address}`)
  const socket = connect({ host, port: Number(port), rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  socket.destroy()
}
