import assert from 'node:assert/strict'
import type { KafkaOptions, KafkaServer } from '../servers/kafka.ts'
import { runKafkaTool } from '../servers/kafka-tools.ts'

const scramModule = 'org.apache.kafka.common.security.scram.ScramLoginModule'

/** Who comes without a login may do everything; users of SCRAM may do what rules allow. */
export const guarded: KafkaOptions = {
  secureListener: 'SASL_PLAINTEXT',
  properties: {
    'sasl.enabled.mechanisms': 'SCRAM-SHA-256',
    'listener.name.secure.scram-sha-256.sasl.jaas.config': `${scramModule} required;`,
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'super.users': 'User:ANONYMOUS',
  },
}

export const loginOf = (username: string) => ({
  protocol: 'SASL_PLAINTEXT',
  sasl: { mechanism: 'SCRAM-SHA-256', username, password: 'secret' },
})

export async function runTool(server: KafkaServer, mainClass: string, ...args: string[]): Promise<string> {
  const all = ['--bootstrap-server', server.bootstrapServers.join(), ...args]
  const { exitCode, stdout, stderr } = await runKafkaTool(server, mainClass, all)
  assert.equal(exitCode, 0, stdout + stderr)
  return stdout
}
