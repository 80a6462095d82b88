import { KafkaBackupError } from '../../errors.ts'
import type { Clock } from '../../lib/clock.ts'
import type { SaslMechanism } from './mechanism.ts'
import { type AwsCredentials, signConnect } from './msk-iam-payload.ts'
import type { MskIamLogin } from './options.ts'

export type CredentialSource = () => Promise<AwsCredentials>

/** IAM access control of Amazon MSK: one signed message, and one answer that repeats its version. */
export function mskIam(
  { region, profile }: NonNullable<MskIamLogin['aws']>,
  clock: Clock,
  credentials: CredentialSource = defaultCredentials(profile),
): SaslMechanism {
  return {
    name: 'AWS_MSK_IAM',
    identity: profile === undefined ? 'the AWS identity of this process' : `the AWS profile ${profile}`,
    async *converse({ host }) {
      const found = await loadCredentials(credentials)
      const payload = signConnect({ host, region: region ?? regionOf(host), credentials: found, nowMs: clock.now() })
      const answer = yield Buffer.from(JSON.stringify(payload))
      if (!answer.toString().includes(payload.version)) {
        throw new KafkaBackupError('KAFKA_AUTH', `${host} did not confirm the AWS_MSK_IAM login`)
      }
    },
  }
}

/** Brokers of MSK have their region in their names. */
export function regionOf(host: string): string {
  const region = /\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$/i.exec(host)?.[1]
  if (region !== undefined) return region.toLowerCase()
  throw new KafkaBackupError('CONFIG_INVALID', `the name ${host} does not contain its AWS region`, {
    help: 'Set `security.sasl.aws.region`.',
  })
}

async function loadCredentials(credentials: CredentialSource): Promise<AwsCredentials> {
  try {
    return await credentials()
  } catch (cause) {
    throw new KafkaBackupError('KAFKA_AUTH', 'no AWS credentials were found for AWS_MSK_IAM', {
      cause,
      help: 'Give them in the environment, a profile, or by the role of the pod, task or instance.',
    })
  }
}

/** It keeps credentials until shortly before they end. */
function defaultCredentials(profile: string | undefined): CredentialSource {
  let provider: Promise<CredentialSource> | undefined
  return async () => {
    provider ??= import('./aws-credentials.ts').then(({ openCredentialChain }) => openCredentialChain(profile))
    return (await provider)()
  }
}
